// SPDX-License-Identifier: MIT
// What the compiler's stack can be: the C library's obstacks, as macros and as functions; the kit's layers; malloc and
// free.
#pragma once

#include "../common/block.hpp"

#include <cairn/combine/hybrid.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/system_malloc.hpp>

#include <cstddef>
#include <cstdlib>

#if __has_include(<obstack.h>)
#include <obstack.h>
#define CAIRN_BENCH_HAS_OBSTACK 1
#else
#define CAIRN_BENCH_HAS_OBSTACK 0
#endif

namespace cairn::bench {

#if CAIRN_BENCH_HAS_OBSTACK

#define obstack_chunk_alloc std::malloc
#define obstack_chunk_free std::free

// The macros, as gcc uses them.
class Macros {
public:
    Macros() { obstack_init(&stack_); }
    ~Macros() { obstack_free(&stack_, nullptr); }
    Macros(const Macros &) = delete;
    Macros &operator=(const Macros &) = delete;

    void grow(char c) { obstack_1grow(&stack_, c); }
    char *finish() { return static_cast<char *>(obstack_finish(&stack_)); }
    void *allocate(std::size_t size) { return obstack_alloc(&stack_, static_cast<int>(size)); }
    void *mark() { return obstack_alloc(&stack_, 0); }
    void release(void *place) { obstack_free(&stack_, place); }

private:
    struct obstack stack_;
};

// The same, each a function that is called.
class Functions : Macros {
public:
    [[gnu::noinline]] void grow(char c) { Macros::grow(c); }
    [[gnu::noinline]] char *finish() { return Macros::finish(); }
    [[gnu::noinline]] void *allocate(std::size_t size) { return Macros::allocate(size); }
    [[gnu::noinline]] void *mark() { return Macros::mark(); }
    [[gnu::noinline]] void release(void *place) { Macros::release(place); }
};

#endif

template <class Stack>
class Layered {
public:
    void grow(char c) {
        if (!stack_.grow_byte(c))
            wrong("no room on the stack", nullptr, 1);
    }
    char *finish() { return static_cast<char *>(stack_.finish()); }
    void *allocate(std::size_t size) {
        void *p = stack_.malloc(size);
        if (p == nullptr)
            wrong("no room on the stack", nullptr, size);
        return p;
    }
    void *mark() { return allocate(0); }
    void release(void *place) { stack_.free(place); }

private:
    Stack stack_;
};

// The document's two: chunks from malloc, and chunks of the usual size kept on a list.
inline constexpr std::size_t chunk = 4096; // with its front
using OnMalloc = Compose<MallocHeap, Obstack<chunk>>;
using OnFreelist =
    Compose<MallocHeap, SizeHeader, Hybrid<chunk, Compose<MallocHeap, Freelist, SizeHeader>>, Obstack<chunk>>;

// Each object from malloc, on a list by which a scope finds its own; a name grows by realloc.
class Malloc {
    struct Object {
        Object *older;
    };

public:
    ~Malloc() { release(nullptr); }

    void grow(char c) {
        if (used_ == room_) {
            room_ = room_ == 0 ? 32 : room_ * 2;
            growing_ = static_cast<Object *>(checked(std::realloc(growing_, sizeof(Object) + room_)));
        }
        text()[used_++] = c;
    }
    char *finish() {
        Object *object = growing_;
        growing_ = nullptr;
        used_ = room_ = 0;
        return static_cast<char *>(listed(object));
    }
    void *allocate(std::size_t size) {
        return listed(static_cast<Object *>(checked(std::malloc(sizeof(Object) + size))));
    }
    void *mark() const { return newest_; }
    void release(void *place) {
        while (newest_ != place) {
            Object *older = newest_->older;
            std::free(newest_);
            newest_ = older;
        }
    }

private:
    static void *checked(void *p) {
        if (p == nullptr)
            wrong("NULL from malloc", nullptr, 0);
        return p;
    }
    void *listed(Object *object) {
        object->older = newest_;
        newest_ = object;
        return object + 1;
    }
    char *text() { return reinterpret_cast<char *>(growing_ + 1); }

    Object *newest_ = nullptr;
    Object *growing_ = nullptr;
    std::size_t used_ = 0, room_ = 0;
};

} // namespace cairn::bench
