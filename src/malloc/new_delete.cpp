// SPDX-License-Identifier: MIT
//
// The C++ interface: every replaceable form of operator new and delete.
//
// The library does not link a C++ runtime: a C program has none. Where there is one, its new-handler is
// called and its std::bad_alloc thrown, through weak references; without one an operator new that fails ends
// the program.
#include "new_handler.hpp"

#include <new>
#include <process_heap.hpp> // of this folder, or of src/family

using cairn::process_heap::heap;

// libstdc++'s and libc++abi's name; absent in a program without a C++ runtime.
extern "C" {
[[gnu::weak]] void cxx_throw_bad_alloc() asm("_ZSt17__throw_bad_allocv");
}

namespace {

[[noreturn]] CAIRN_COLD void throw_bad_alloc() {
    if (cxx_throw_bad_alloc != nullptr) {
        cxx_throw_bad_alloc();
    }
    cairn::platform::fatal({"out of memory in operator new, and no C++ runtime to throw std::bad_alloc"});
}

void *once_more(std::size_t size, std::size_t alignment) {
    return alignment == 1 ? heap.malloc(size) : heap.memalign(alignment, size);
}

/// Asks the new-handler for memory until there is some, or there is no handler.
CAIRN_COLD void *retry(std::size_t size, std::size_t alignment, bool (*ask)()) {
    void *p = nullptr;
    while (p == nullptr && ask()) {
        p = once_more(size, alignment);
    }
    return p;
}

CAIRN_COLD void *retry_or_throw(std::size_t size, std::size_t alignment = 1) {
    void *const p = retry(size, alignment, cairn::call_new_handler);
    if (p == nullptr) {
        throw_bad_alloc();
    }
    return p;
}

CAIRN_INLINE void *allocate(std::size_t size) {
    void *const p = heap.malloc(size);
    return CAIRN_LIKELY(p != nullptr) ? p : retry_or_throw(size);
}
CAIRN_INLINE void *allocate(std::size_t size, std::align_val_t alignment) {
    void *const p = heap.memalign(static_cast<std::size_t>(alignment), size);
    return CAIRN_LIKELY(p != nullptr) ? p : retry_or_throw(size, static_cast<std::size_t>(alignment));
}
CAIRN_INLINE void *try_allocate(std::size_t size) {
    void *const p = heap.malloc(size);
    return CAIRN_LIKELY(p != nullptr) ? p : retry(size, 1, cairn::call_new_handler_nothrow);
}
CAIRN_INLINE void *try_allocate(std::size_t size, std::align_val_t alignment) {
    void *const p = heap.memalign(static_cast<std::size_t>(alignment), size);
    return CAIRN_LIKELY(p != nullptr)
               ? p
               : retry(size, static_cast<std::size_t>(alignment), cairn::call_new_handler_nothrow);
}

} // namespace

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

CAIRN_EXPORT void *operator new(size_t size) {
    return allocate(size);
}
CAIRN_EXPORT void *operator new[](size_t size) {
    return allocate(size);
}
CAIRN_EXPORT void *operator new(size_t size, align_val_t alignment) {
    return allocate(size, alignment);
}
CAIRN_EXPORT void *operator new[](size_t size, align_val_t alignment) {
    return allocate(size, alignment);
}
CAIRN_EXPORT void *operator new(size_t size, const nothrow_t &) noexcept {
    return try_allocate(size);
}
CAIRN_EXPORT void *operator new[](size_t size, const nothrow_t &) noexcept {
    return try_allocate(size);
}
CAIRN_EXPORT void *operator new(size_t size, align_val_t alignment, const nothrow_t &) noexcept {
    return try_allocate(size, alignment);
}
CAIRN_EXPORT void *operator new[](size_t size, align_val_t alignment, const nothrow_t &) noexcept {
    return try_allocate(size, alignment);
}

CAIRN_EXPORT void operator delete(void *p) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete[](void *p) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete(void *p, size_t) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete[](void *p, size_t) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete(void *p, align_val_t) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete[](void *p, align_val_t) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete(void *p, size_t, align_val_t) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete[](void *p, size_t, align_val_t) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete(void *p, const nothrow_t &) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete[](void *p, const nothrow_t &) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete(void *p, align_val_t, const nothrow_t &) noexcept {
    heap.free(p);
}
CAIRN_EXPORT void operator delete[](void *p, align_val_t, const nothrow_t &) noexcept {
    heap.free(p);
}
