// SPDX-License-Identifier: MIT
//
// The forms of operator new and operator delete in front of those of the next library: an allocator may serve them
// without its malloc.
#include "interpose.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/fatal.hpp>
#include <src/malloc/new_handler.hpp>

#include <cstdlib>
#include <new>

using namespace cairn::trace;
using std::size_t;

// libstdc++'s and libc++abi's name; absent in a program that starts without a C++ runtime.
extern "C" {
[[gnu::weak]] void cxx_throw_bad_alloc() asm("_ZSt17__throw_bad_allocv");
}

namespace {

constinit Next<void *(size_t)> next_new{"_Znwm"};
constinit Next<void *(size_t)> next_new_array{"_Znam"};
constinit Next<void *(size_t, std::align_val_t)> next_new_aligned{"_ZnwmSt11align_val_t"};
constinit Next<void *(size_t, std::align_val_t)> next_new_array_aligned{"_ZnamSt11align_val_t"};
constinit Next<void *(size_t, const std::nothrow_t &)> next_new_nothrow{"_ZnwmRKSt9nothrow_t"};
constinit Next<void *(size_t, const std::nothrow_t &)> next_new_array_nothrow{"_ZnamRKSt9nothrow_t"};
constinit Next<void *(size_t, std::align_val_t, const std::nothrow_t &)> next_new_aligned_nothrow{
    "_ZnwmSt11align_val_tRKSt9nothrow_t"};
constinit Next<void *(size_t, std::align_val_t, const std::nothrow_t &)> next_new_array_aligned_nothrow{
    "_ZnamSt11align_val_tRKSt9nothrow_t"};
constinit Next<void(void *)> next_delete{"_ZdlPv"};
constinit Next<void(void *)> next_delete_array{"_ZdaPv"};
constinit Next<void(void *, std::align_val_t)> next_delete_aligned{"_ZdlPvSt11align_val_t"};
constinit Next<void(void *, std::align_val_t)> next_delete_array_aligned{"_ZdaPvSt11align_val_t"};

template <class N>
auto *found(N &next) {
    auto *const f = next.find();
    if (f == nullptr) {
        cairn::platform::fatal({"trace: operator new is called, and no library has it"});
    }
    return f;
}

/// Gives the program's new-handler its own call: what it allocates and frees is in the trace. The operator new of the
/// next library is told that there is none, and is called again when the handler has returned.
constinit Next<std::new_handler()> next_get_new_handler{"_ZSt15get_new_handlerv"};

/// std::nothrow is an object of the C++ library.
constinit const std::nothrow_t silently{};

/// Without a C++ runtime a form that finds no memory would end the program, also one that does not throw: then malloc
/// and memalign are asked, as in an allocator that has no operator new.
void *try_plain(size_t size) {
    return malloc(size);
}
void *try_plain(size_t size, std::align_val_t alignment) {
    const auto to = static_cast<size_t>(alignment);
    return cairn::is_power_of_two(to) ? memalign(to, size) : nullptr;
}

/// An allocation by a form that does not throw: an exception would leave us in the midst of recording. It may go
/// through the form that throws, and takes ours for that: within a call, ours is the next one's.
template <class Nothrow, class... Alignment>
void *try_make(Nothrow &next, size_t size, Alignment... alignment) {
    auto *const f = cxx_throw_bad_alloc != nullptr ? next.find() : nullptr;
    if (f == nullptr) {
        return try_plain(size, alignment...);
    }
    return allocate(sizeof...(alignment) != 0 ? Op::aligned : Op::malloc, size,
                    (1 * ... * static_cast<size_t>(alignment)),
                    [&] { return f(size, alignment..., silently); });
}

/// As the C++ runtime would: the new-handler, by `ask`, and again.
template <class Nothrow, class... Alignment>
void *retry(bool (*ask)(), Nothrow &next, size_t size, Alignment... alignment) {
    void *p = nullptr;
    while (p == nullptr && (cairn::is_power_of_two(static_cast<size_t>(alignment)) && ...) && ask()) {
        p = try_make(next, size, alignment...);
    }
    return p;
}

/// `late`: the form's name in a C++ runtime that came with a library, after the start. It calls our malloc.
template <class Nothrow, class... Alignment>
void *make_or_throw(const char *late, const void *caller, Nothrow &next, size_t size,
                    Alignment... alignment) {
    void *p = try_make(next, size, alignment...);
    if (CAIRN_LIKELY(p != nullptr)) {
        return p;
    }
    if (cxx_throw_bad_alloc == nullptr) {
        using Form = void *(*)(size_t, Alignment...);
        if (const auto theirs = reinterpret_cast<Form>(cairn::late_runtime(late, caller))) {
            return theirs(size, alignment...);
        }
        cairn::platform::fatal(
            {"trace: out of memory in operator new, and no C++ runtime to throw std::bad_alloc"});
    }
    p = retry(cairn::call_new_handler, next, size, alignment...);
    return p != nullptr ? p : (cxx_throw_bad_alloc(), nullptr);
}

template <class Nothrow, class... Alignment>
void *make_or_null(const char *late, const void *caller, Nothrow &next, size_t size, Alignment... alignment) {
    void *const p = try_make(next, size, alignment...);
    if (CAIRN_LIKELY(p != nullptr)) {
        return p;
    }
    if (cxx_throw_bad_alloc == nullptr) {
        using Form = void *(*)(size_t, Alignment..., const std::nothrow_t &);
        const auto theirs = reinterpret_cast<Form>(cairn::late_runtime(late, caller));
        return theirs != nullptr ? theirs(size, alignment..., silently) : nullptr;
    }
    return retry(cairn::call_new_handler_nothrow, next, size, alignment...);
}

template <class N, class... More>
void destroy(N &next, void *p, size_t size, More... more) {
    auto *const f = next.find();
    release(p, size, [&] { f != nullptr ? f(p, more...) : plain_free(p); });
}

} // namespace

using std::align_val_t;
using std::nothrow_t;

// A program may replace some forms. As the C++ standard requires, the other forms then go through the program's, and
// are not recorded: what the program's forms take from malloc is.

// This library's own forms, also where the program has replaced them.
#define CAIRN_OWN(name) [[gnu::alias(name), gnu::visibility("hidden")]]
#define CAIRN_OWN_NEW(name) CAIRN_OWN(name) [[gnu::malloc, gnu::alloc_size(1)]]
extern "C" {
CAIRN_OWN_NEW("_Znwm") void *own_new(size_t);
CAIRN_OWN_NEW("_Znam") void *own_new_array(size_t);
CAIRN_OWN_NEW("_ZnwmSt11align_val_t") [[gnu::alloc_align(2)]] void *own_new_aligned(size_t, align_val_t);
CAIRN_OWN_NEW("_ZnamSt11align_val_t")
[[gnu::alloc_align(2)]] void *own_new_array_aligned(size_t, align_val_t);
CAIRN_OWN("_ZdlPv") void own_delete(void *) noexcept;
CAIRN_OWN("_ZdaPv") void own_delete_array(void *) noexcept;
CAIRN_OWN("_ZdlPvSt11align_val_t") void own_delete_aligned(void *, align_val_t) noexcept;
CAIRN_OWN("_ZdaPvSt11align_val_t") void own_delete_array_aligned(void *, align_val_t) noexcept;
}

namespace {

using New = void *(*)(size_t);
using NewAligned = void *(*)(size_t, align_val_t);
using Delete = void (*)(void *) noexcept;
using DeleteAligned = void (*)(void *, align_val_t) noexcept;

bool is_own_new() {
    return static_cast<New>(::operator new) == own_new;
}
bool is_own_new_array() {
    return is_own_new() && static_cast<New>(::operator new[]) == own_new_array;
}
bool is_own_new_aligned() {
    return static_cast<NewAligned>(::operator new) == own_new_aligned;
}
bool is_own_new_array_aligned() {
    return is_own_new_aligned() && static_cast<NewAligned>(::operator new[]) == own_new_array_aligned;
}
bool is_own_delete() {
    return static_cast<Delete>(::operator delete) == own_delete;
}
bool is_own_delete_array() {
    return is_own_delete() && static_cast<Delete>(::operator delete[]) == own_delete_array;
}
bool is_own_delete_aligned() {
    return static_cast<DeleteAligned>(::operator delete) == own_delete_aligned;
}
bool is_own_delete_array_aligned() {
    return is_own_delete_aligned() &&
           static_cast<DeleteAligned>(::operator delete[]) == own_delete_array_aligned;
}

} // namespace

/// Of the caller, to which a C++ runtime may belong that came after the start. In the form itself.
#define CAIRN_CALLER __builtin_return_address(0)

CAIRN_EXPORT std::new_handler std::get_new_handler() noexcept {
    if (!recording()) {
        return nullptr;
    }
    auto *next = next_get_new_handler.find();
    if (next == nullptr) {
        next = reinterpret_cast<std::new_handler (*)()>(
            cairn::late_runtime("_ZSt15get_new_handlerv", CAIRN_CALLER));
    }
    return next != nullptr ? next() : nullptr;
}

CAIRN_EXPORT void *operator new(size_t n) {
    return recording() ? make_or_throw("_Znwm", CAIRN_CALLER, next_new_nothrow, n) : found(next_new)(n);
}
CAIRN_EXPORT void *operator new(size_t n, align_val_t a) {
    return recording() ? make_or_throw("_ZnwmSt11align_val_t", CAIRN_CALLER, next_new_aligned_nothrow, n, a)
                       : found(next_new_aligned)(n, a);
}
CAIRN_EXPORT void *operator new[](size_t n) {
    if (!is_own_new()) {
        return ::operator new(n);
    }
    return recording() ? make_or_throw("_Znwm", CAIRN_CALLER, next_new_array_nothrow, n)
                       : found(next_new_array)(n);
}
CAIRN_EXPORT void *operator new[](size_t n, align_val_t a) {
    if (!is_own_new_aligned()) {
        return ::operator new(n, a);
    }
    return recording()
               ? make_or_throw("_ZnwmSt11align_val_t", CAIRN_CALLER, next_new_array_aligned_nothrow, n, a)
               : found(next_new_array_aligned)(n, a);
}

CAIRN_EXPORT void *operator new(size_t n, const nothrow_t &) noexcept {
    return is_own_new() ? make_or_null("_ZnwmRKSt9nothrow_t", CAIRN_CALLER, next_new_nothrow, n)
                        : cairn::new_or_null(::operator new, n);
}
CAIRN_EXPORT void *operator new[](size_t n, const nothrow_t &) noexcept {
    return is_own_new_array() ? make_or_null("_ZnwmRKSt9nothrow_t", CAIRN_CALLER, next_new_array_nothrow, n)
                              : cairn::new_or_null(::operator new[], n);
}
CAIRN_EXPORT void *operator new(size_t n, align_val_t a, const nothrow_t &) noexcept {
    return is_own_new_aligned() ? make_or_null("_ZnwmSt11align_val_tRKSt9nothrow_t", CAIRN_CALLER,
                                               next_new_aligned_nothrow, n, a)
                                : cairn::new_or_null(::operator new, n, a);
}
CAIRN_EXPORT void *operator new[](size_t n, align_val_t a, const nothrow_t &) noexcept {
    return is_own_new_array_aligned() ? make_or_null("_ZnwmSt11align_val_tRKSt9nothrow_t", CAIRN_CALLER,
                                                     next_new_array_aligned_nothrow, n, a)
                                      : cairn::new_or_null(::operator new[], n, a);
}

CAIRN_EXPORT void operator delete(void *p) noexcept {
    destroy(next_delete, p, 0);
}
CAIRN_EXPORT void operator delete(void *p, align_val_t a) noexcept {
    destroy(next_delete_aligned, p, 0, a);
}
CAIRN_EXPORT void operator delete[](void *p) noexcept {
    is_own_delete() ? destroy(next_delete_array, p, 0) : ::operator delete(p);
}
CAIRN_EXPORT void operator delete[](void *p, align_val_t a) noexcept {
    is_own_delete_aligned() ? destroy(next_delete_array_aligned, p, 0, a) : ::operator delete(p, a);
}
CAIRN_EXPORT void operator delete(void *p, size_t n) noexcept {
    is_own_delete() ? destroy(next_delete, p, n) : ::operator delete(p);
}
CAIRN_EXPORT void operator delete[](void *p, size_t n) noexcept {
    is_own_delete_array() ? destroy(next_delete_array, p, n) : ::operator delete[](p);
}
CAIRN_EXPORT void operator delete(void *p, size_t n, align_val_t a) noexcept {
    is_own_delete_aligned() ? destroy(next_delete_aligned, p, n, a) : ::operator delete(p, a);
}
CAIRN_EXPORT void operator delete[](void *p, size_t n, align_val_t a) noexcept {
    is_own_delete_array_aligned() ? destroy(next_delete_array_aligned, p, n, a) : ::operator delete[](p, a);
}
CAIRN_EXPORT void operator delete(void *p, const nothrow_t &) noexcept {
    ::operator delete(p);
}
CAIRN_EXPORT void operator delete[](void *p, const nothrow_t &) noexcept {
    ::operator delete[](p);
}
CAIRN_EXPORT void operator delete(void *p, align_val_t a, const nothrow_t &) noexcept {
    ::operator delete(p, a);
}
CAIRN_EXPORT void operator delete[](void *p, align_val_t a, const nothrow_t &) noexcept {
    ::operator delete[](p, a);
}
