// SPDX-License-Identifier: MIT
//
// The C++ interface: every replaceable form of operator new and delete.
//
// A program may replace some forms. As the C++ standard requires, each other form calls another one, through the symbol
// tables of the loader: array forms call the forms for single objects, sized delete calls the unsized one, and the
// forms that do not throw call the throwing ones. So this library's delete never gets a block of the program's own
// operator new.
//
// The library does not link a C++ runtime, because a C program has none. If the process has one, its new-handler is
// called and its std::bad_alloc thrown, through weak references. If a C program loads one later, with a library, the
// operator new of that runtime is called, which calls malloc once more. Without a runtime an operator new that fails
// ends the program.
#include "new_handler.hpp"

#include <new>
#include <process_heap.hpp> // of this folder, or of src/family

using cairn::process_heap::heap;

// libstdc++'s and libc++abi's name; absent in a program without a C++ runtime.
extern "C" {
[[gnu::weak]] void cxx_throw_bad_alloc() asm("_ZSt17__throw_bad_allocv");
}

// What that function does, by the names of the C++ ABI. A linker takes no member out of an archive for a weak
// reference: a program with a statically linked runtime may lack that function, but has these names if it catches
// std::bad_alloc and is compiled with RTTI.
extern "C" {
[[gnu::weak]] void *cxx_allocate_exception(std::size_t) asm("__cxa_allocate_exception");
[[gnu::weak]] void cxx_throw(void *, void *, void (*)(void *)) asm("__cxa_throw");
[[gnu::weak]] void cxx_bad_alloc_destructor(void *) asm("_ZNSt9bad_allocD1Ev");
[[gnu::weak]] extern void *cxx_bad_alloc_type asm("_ZTISt9bad_alloc");
struct CxxTable {
    std::ptrdiff_t to_top;
    void *type;
    void *functions[1];
};
[[gnu::weak]] extern CxxTable cxx_bad_alloc_table asm("_ZTVSt9bad_alloc");
}

namespace {

[[noreturn]] CAIRN_COLD void *throw_bad_alloc() {
    if (cxx_throw_bad_alloc != nullptr) {
        cxx_throw_bad_alloc();
    }
    if (cxx_allocate_exception != nullptr && cxx_throw != nullptr && cxx_bad_alloc_destructor != nullptr &&
        &cxx_bad_alloc_type != nullptr && &cxx_bad_alloc_table != nullptr) {
        void *const exception = cxx_allocate_exception(sizeof(void *));
        *static_cast<void **>(exception) = cxx_bad_alloc_table.functions;
        cxx_throw(exception, &cxx_bad_alloc_type, cxx_bad_alloc_destructor);
    }
    cairn::platform::fatal({"out of memory in operator new, and no C++ runtime to throw std::bad_alloc"});
}

void *once_more(std::size_t size, std::size_t alignment) {
    return alignment == 1 ? heap.malloc(size) : heap.memalign(alignment, size);
}

/// nullptr for an alignment that is not a power of two, as in libstdc++.
CAIRN_INLINE void *try_aligned(std::size_t size, std::align_val_t alignment) {
    const auto to = static_cast<std::size_t>(alignment);
    return CAIRN_LIKELY(cairn::is_power_of_two(to)) ? heap.try_memalign(to, size) : nullptr;
}
void *try_aligned_later(std::size_t size, std::align_val_t alignment) {
    const auto to = static_cast<std::size_t>(alignment);
    return CAIRN_LIKELY(cairn::is_power_of_two(to)) ? heap.memalign_slow(to, size) : nullptr;
}

/// Calls the new-handler, by `ask`, and tries again, until there is memory or `ask` returns false.
CAIRN_COLD void *retry(std::size_t size, std::size_t alignment, bool (*ask)()) {
    void *p = nullptr;
    while (p == nullptr && cairn::is_power_of_two(alignment) && ask()) {
        p = once_more(size, alignment);
    }
    return p;
}

/// The operator new of the caller's C++ runtime, if that was loaded by dlopen(). It finds no memory either, calls its
/// new-handler, and throws or returns nullptr, depending on the form.
template <class... Form>
auto late_form(const char *name, const void *caller) {
    using New = void *(*)(std::size_t, Form...);
    return cxx_throw_bad_alloc != nullptr ? nullptr
                                          : reinterpret_cast<New>(cairn::late_runtime(name, caller));
}

CAIRN_COLD void *retry_or_throw(const void *caller, std::size_t size) {
    if (const auto theirs = late_form<>("_Znwm", caller)) {
        return theirs(size);
    }
    void *const p = retry(size, 1, cairn::call_new_handler);
    return p != nullptr ? p : throw_bad_alloc();
}
CAIRN_COLD void *retry_or_throw(const void *caller, std::size_t size, std::align_val_t alignment) {
    if (const auto theirs = late_form<std::align_val_t>("_ZnwmSt11align_val_t", caller)) {
        return theirs(size, alignment);
    }
    void *const p = retry(size, static_cast<std::size_t>(alignment), cairn::call_new_handler);
    return p != nullptr ? p : throw_bad_alloc();
}
CAIRN_COLD void *retry_or_null(const void *caller, std::size_t size, const std::nothrow_t &form) {
    if (const auto theirs = late_form<const std::nothrow_t &>("_ZnwmRKSt9nothrow_t", caller)) {
        return theirs(size, form);
    }
    return retry(size, 1, cairn::call_new_handler_nothrow);
}
CAIRN_COLD void *retry_or_null(const void *caller, std::size_t size, std::align_val_t alignment,
                               const std::nothrow_t &form) {
    if (const auto theirs = late_form<std::align_val_t, const std::nothrow_t &>(
            "_ZnwmSt11align_val_tRKSt9nothrow_t", caller)) {
        return theirs(size, alignment, form);
    }
    return retry(size, static_cast<std::size_t>(alignment), cairn::call_new_handler_nothrow);
}

/// All of malloc but the fast path. Not part of the forms, so that their fast paths need no stack frame.
void *try_later(std::size_t size) {
    void *const p = heap.try_malloc_medium(size);
    return CAIRN_LIKELY(p != nullptr) ? p : heap.malloc_slow(size);
}
CAIRN_NOINLINE void *allocate_later(const void *caller, std::size_t size) {
    void *const p = try_later(size);
    return CAIRN_LIKELY(p != nullptr) ? p : retry_or_throw(caller, size);
}
CAIRN_NOINLINE void *allocate_later(const void *caller, std::size_t size, std::align_val_t alignment) {
    void *const p = try_aligned_later(size, alignment);
    return CAIRN_LIKELY(p != nullptr) ? p : retry_or_throw(caller, size, alignment);
}
CAIRN_NOINLINE void *try_allocate_later(const void *caller, std::size_t size, std::align_val_t alignment,
                                        const std::nothrow_t &form) {
    void *const p = try_aligned_later(size, alignment);
    return CAIRN_LIKELY(p != nullptr) ? p : retry_or_null(caller, size, alignment, form);
}
CAIRN_NOINLINE void *try_allocate_later(const void *caller, std::size_t size, const std::nothrow_t &form) {
    void *const p = try_later(size);
    return CAIRN_LIKELY(p != nullptr) ? p : retry_or_null(caller, size, form);
}

/// Inlined into each form, so that the return address is that of the form's caller.
CAIRN_INLINE void *allocate(std::size_t size) {
    void *const p = heap.try_malloc(size);
    return CAIRN_LIKELY(p != nullptr) ? p : allocate_later(__builtin_return_address(0), size);
}
CAIRN_INLINE void *allocate(std::size_t size, std::align_val_t alignment) {
    void *const p = try_aligned(size, alignment);
    return CAIRN_LIKELY(p != nullptr) ? p : allocate_later(__builtin_return_address(0), size, alignment);
}
CAIRN_INLINE void *try_allocate(std::size_t size, const std::nothrow_t &form) {
    void *const p = heap.try_malloc(size);
    return CAIRN_LIKELY(p != nullptr) ? p : try_allocate_later(__builtin_return_address(0), size, form);
}
CAIRN_INLINE void *try_allocate(std::size_t size, std::align_val_t alignment, const std::nothrow_t &form) {
    void *const p = try_aligned(size, alignment);
    return CAIRN_LIKELY(p != nullptr)
               ? p
               : try_allocate_later(__builtin_return_address(0), size, alignment, form);
}

} // namespace

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

// Weak in the archive: a program that is linked with it may define some forms itself. Not weak in the shared library,
// where the loader prefers the program's forms anyway: valgrind does not replace weak functions. Nor are they inlined
// into each other there, which clang would do although a program may replace them.
#if defined(CAIRN_ARCHIVE)
#define CAIRN_REPLACEABLE CAIRN_EXPORT [[gnu::weak]]
#else
#define CAIRN_REPLACEABLE CAIRN_EXPORT CAIRN_NOINLINE
#endif

CAIRN_REPLACEABLE void *operator new(size_t size) {
    return allocate(size);
}
CAIRN_REPLACEABLE void *operator new(size_t size, align_val_t alignment) {
    return allocate(size, alignment);
}
CAIRN_REPLACEABLE void operator delete(void *p) noexcept {
    heap.free(p);
}
CAIRN_REPLACEABLE void operator delete(void *p, align_val_t) noexcept {
    heap.free(p);
}

// Each form below calls one of the forms above: this library's, or the program's.

CAIRN_REPLACEABLE void *operator new[](size_t size) {
    CAIRN_TAIL_CALL return ::operator new(size); // a jump: the return address is that of our caller
}
CAIRN_REPLACEABLE void *operator new[](size_t size, align_val_t alignment) {
    CAIRN_TAIL_CALL return ::operator new(size, alignment);
}
CAIRN_REPLACEABLE void operator delete[](void *p) noexcept {
    ::operator delete(p);
}
CAIRN_REPLACEABLE void operator delete[](void *p, align_val_t alignment) noexcept {
    ::operator delete(p, alignment);
}

CAIRN_REPLACEABLE void operator delete(void *p, size_t) noexcept {
    ::operator delete(p);
}
CAIRN_REPLACEABLE void operator delete[](void *p, size_t) noexcept {
    ::operator delete[](p);
}
CAIRN_REPLACEABLE void operator delete(void *p, size_t, align_val_t alignment) noexcept {
    ::operator delete(p, alignment);
}
CAIRN_REPLACEABLE void operator delete[](void *p, size_t, align_val_t alignment) noexcept {
    ::operator delete[](p, alignment);
}
CAIRN_REPLACEABLE void operator delete(void *p, const nothrow_t &) noexcept {
    ::operator delete(p);
}
CAIRN_REPLACEABLE void operator delete[](void *p, const nothrow_t &) noexcept {
    ::operator delete[](p);
}
CAIRN_REPLACEABLE void operator delete(void *p, align_val_t alignment, const nothrow_t &) noexcept {
    ::operator delete(p, alignment);
}
CAIRN_REPLACEABLE void operator delete[](void *p, align_val_t alignment, const nothrow_t &) noexcept {
    ::operator delete[](p, alignment);
}

// This library's own forms, also where the program has replaced them: with these no exception is thrown only to be
// caught.
#define CAIRN_OWN(name) [[gnu::alias(name), gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)]]
extern "C" {
CAIRN_OWN("_Znwm") void *cairn_own_new(size_t);
CAIRN_OWN("_Znam") void *cairn_own_new_array(size_t);
CAIRN_OWN("_ZnwmSt11align_val_t") [[gnu::alloc_align(2)]] void *cairn_own_aligned_new(size_t, align_val_t);
CAIRN_OWN("_ZnamSt11align_val_t")
[[gnu::alloc_align(2)]] void *cairn_own_aligned_new_array(size_t, align_val_t);
}

namespace {

using New = void *(*)(size_t);
using AlignedNew = void *(*)(size_t, align_val_t);

CAIRN_INLINE bool is_own_new() {
    return static_cast<New>(::operator new) == cairn_own_new;
}
CAIRN_INLINE bool is_own_new_array() {
    return is_own_new() && static_cast<New>(::operator new[]) == cairn_own_new_array;
}
CAIRN_INLINE bool is_own_aligned_new() {
    return static_cast<AlignedNew>(::operator new) == cairn_own_aligned_new;
}
CAIRN_INLINE bool is_own_aligned_new_array() {
    return is_own_aligned_new() && static_cast<AlignedNew>(::operator new[]) == cairn_own_aligned_new_array;
}

} // namespace

CAIRN_REPLACEABLE void *operator new(size_t size, const nothrow_t &form) noexcept {
    return CAIRN_LIKELY(is_own_new()) ? try_allocate(size, form) : cairn::new_or_null(::operator new, size);
}
CAIRN_REPLACEABLE void *operator new[](size_t size, const nothrow_t &form) noexcept {
    return CAIRN_LIKELY(is_own_new_array()) ? try_allocate(size, form)
                                            : cairn::new_or_null(::operator new[], size);
}
CAIRN_REPLACEABLE void *operator new(size_t size, align_val_t alignment, const nothrow_t &form) noexcept {
    return CAIRN_LIKELY(is_own_aligned_new()) ? try_allocate(size, alignment, form)
                                              : cairn::new_or_null(::operator new, size, alignment);
}
CAIRN_REPLACEABLE void *operator new[](size_t size, align_val_t alignment, const nothrow_t &form) noexcept {
    return CAIRN_LIKELY(is_own_aligned_new_array()) ? try_allocate(size, alignment, form)
                                                    : cairn::new_or_null(::operator new[], size, alignment);
}
