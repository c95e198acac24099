// SPDX-License-Identifier: MIT
// The allocator that a programmer writes by hand for 197.parser's discipline, as Heap Layers describes it (section
// 5.1): one piece of 30 MB; a block comes after the last one that is in use, by moving a pointer; freeing marks a
// block, and if it is the last one the pointer moves back to the last one that is still in use. In the manner of C of
// its day: global variables, macros for what is done often, no layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace cairn::bench {

constexpr std::size_t xalloc_region = std::size_t{30} << 20;

struct alignas(16) XallocHeader {
    XallocHeader *before;
    std::size_t size; // the lowest bit: it is free
};

struct XallocState {
    char *start, *next, *end;
    XallocHeader *last;
};

inline XallocState xalloc_state;

inline void xalloc_open() {
    void *region = mmap(nullptr, xalloc_region, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) {
        std::perror("mmap");
        std::exit(4);
    }
    xalloc_state.start = xalloc_state.next = static_cast<char *>(region);
    xalloc_state.end = xalloc_state.start + xalloc_region;
    xalloc_state.last = nullptr;
}

#define CAIRN_BENCH_XALLOC(block, bytes)                                                                     \
    do {                                                                                                     \
        const std::size_t rounded_ = ((bytes) + 15) & ~std::size_t{15};                                      \
        if (rounded_ + sizeof(XallocHeader) >                                                                \
            static_cast<std::size_t>(xalloc_state.end - xalloc_state.next)) {                                \
            (block) = nullptr;                                                                               \
        } else {                                                                                             \
            XallocHeader *header_ = reinterpret_cast<XallocHeader *>(xalloc_state.next);                     \
            header_->before = xalloc_state.last;                                                             \
            header_->size = (bytes) << 1;                                                                    \
            xalloc_state.last = header_;                                                                     \
            xalloc_state.next += sizeof(XallocHeader) + rounded_;                                            \
            (block) = header_ + 1;                                                                           \
        }                                                                                                    \
    } while (false)

#define CAIRN_BENCH_XFREE(block)                                                                             \
    do {                                                                                                     \
        XallocHeader *header_ = static_cast<XallocHeader *>(block) - 1;                                      \
        header_->size |= 1;                                                                                  \
        if (header_ == xalloc_state.last) {                                                                  \
            while (header_->before != nullptr && (header_->before->size & 1) != 0)                           \
                header_ = header_->before;                                                                   \
            xalloc_state.last = header_->before;                                                             \
            xalloc_state.next = reinterpret_cast<char *>(header_);                                           \
        }                                                                                                    \
    } while (false)

// Functions, as in the program; and the same inlined at each place, which the paper measures too.
struct Original {
    static void open() { xalloc_open(); }
    [[gnu::noinline]] static void *malloc(std::size_t size) {
        void *block;
        CAIRN_BENCH_XALLOC(block, size);
        return block;
    }
    [[gnu::noinline]] static void free(void *p) { CAIRN_BENCH_XFREE(p); }
};

struct OriginalInlined {
    static void open() { xalloc_open(); }
    [[gnu::always_inline]] static void *malloc(std::size_t size) {
        void *block;
        CAIRN_BENCH_XALLOC(block, size);
        return block;
    }
    [[gnu::always_inline]] static void free(void *p) { CAIRN_BENCH_XFREE(p); }
};

#undef CAIRN_BENCH_XALLOC
#undef CAIRN_BENCH_XFREE

} // namespace cairn::bench
