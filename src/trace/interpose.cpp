// SPDX-License-Identifier: MIT
//
// The names of malloc and its family in front of whichever allocator comes next: each call goes there and is recorded.
//
// An allocator's calls of itself, and what the writer needs, are not recorded. Before dlsym has found the next
// allocator, a small buffer serves: dlsym itself may ask for memory.
#include "writer.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/cpu.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>
#include <src/malloc/environment.hpp>
#include <src/malloc/new_handler.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <unistd.h>

using namespace cairn::trace;
using std::size_t;

namespace {

/// What dlsym asks for while it looks for malloc. Never freed.
alignas(16) constinit char first_memory[32768];
constinit std::atomic<size_t> first_used{0};

void *from_first_memory(size_t size) {
    const size_t need = cairn::align_up(size + 16, size_t{16});
    const size_t at = first_used.fetch_add(need, std::memory_order_relaxed); // relaxed: a piece of one's own
    if (at + need > sizeof first_memory) {
        cairn::platform::fatal({"trace: too much memory was asked for before there is an allocator"});
    }
    std::memcpy(first_memory + at, &size, sizeof size);
    return first_memory + at + 16;
}
bool of_first_memory(const void *p) {
    return cairn::address_of(p) - cairn::address_of(first_memory) < sizeof first_memory;
}
size_t first_size(const void *p) {
    size_t size = 0;
    std::memcpy(&size, static_cast<const char *>(p) - 16, sizeof size);
    return size;
}

constinit thread_local bool looking __attribute__((tls_model("initial-exec"))) = false;

/// The same name in the next library; nullptr if there is none.
template <class F>
class Next {
public:
    explicit constexpr Next(const char *name) : name_(name) {}

    /// nullptr also for the calls that dlsym makes while it looks.
    F *find() {
        // relaxed: where it points is code, which was there before.
        F *const found = found_.load(std::memory_order_relaxed);
        return CAIRN_UNLIKELY(found == nullptr) ? look() : found;
    }

private:
    CAIRN_COLD F *look() {
        if (looking) {
            return nullptr;
        }
        looking = true;
        F *const found = reinterpret_cast<F *>(dlsym(RTLD_NEXT, name_));
        looking = false;
        found_.store(found, std::memory_order_relaxed);
        return found;
    }

    const char *name_;
    std::atomic<F *> found_ = nullptr;
};

constinit Next<void *(size_t)> next_malloc{"malloc"};
constinit Next<void(void *)> next_free{"free"};
constinit Next<void *(size_t, size_t)> next_calloc{"calloc"};
constinit Next<void *(void *, size_t)> next_realloc{"realloc"};
constinit Next<void *(size_t, size_t)> next_memalign{"memalign"};
constinit Next<void *(size_t, size_t)> next_aligned_alloc{"aligned_alloc"};
constinit Next<int(void **, size_t, size_t)> next_posix_memalign{"posix_memalign"};
constinit Next<size_t(void *)> next_usable_size{"malloc_usable_size"};
constinit Next<pid_t()> next_fork{"_Fork"};

/// An allocation, made by `call` and recorded if it worked.
///
/// The clock is read without waiting for what stands before it, which would cost more than all the rest: in the midst
/// of a wait for a cache line it may be some hundred nanoseconds early. Where that matters, because another thread
/// freed the block just now, whoever reads the trace sees it, and puts the two in order (cli::TraceFile).
///
/// A signal's handler that allocates in the midst of it is not recorded: it would write over the record.
template <class F>
void *allocate(Op op, size_t size, size_t alignment, F call) {
    if (!recording()) {
        return call();
    }
    const Inside inside;
    void *const p = call();
    if (p != nullptr) {
        record(op, p, size, cairn::platform::ticks(), alignment);
    }
    return p;
}

/// A free, recorded and then made by `call`.
///
/// The clock may be read early, as an allocation's. It may be read late too, but not so late that somebody else could
/// have the block: the allocator hands it on by a release of its own (a lock's, or a list's), which no store before it
/// can pass, and the record, which is stored before the call, needs the clock.
template <class F>
void release(void *p, size_t size, F call) {
    if (p == nullptr || of_first_memory(p)) {
        return;
    }
    if (!recording()) {
        return call();
    }
    const Inside inside;
    record(Op::free, p, size, cairn::platform::ticks());
    call();
}

void plain_free(void *p) {
    if (auto *const f = next_free.find()) {
        f(p);
    }
}

} // namespace

extern "C" {

CAIRN_EXPORT void *malloc(size_t size) noexcept {
    auto *const f = next_malloc.find();
    return f == nullptr ? from_first_memory(size) : allocate(Op::malloc, size, 1, [&] { return f(size); });
}

CAIRN_EXPORT void free(void *p) noexcept {
    release(p, 0, [&] { plain_free(p); });
}

CAIRN_EXPORT void *calloc(size_t count, size_t size) noexcept {
    auto *const f = next_calloc.find();
    return f == nullptr ? from_first_memory(count * size) // zero: it was never used
                        : allocate(Op::calloc, count * size, 1, [&] { return f(count, size); });
}

CAIRN_EXPORT void *realloc(void *p, size_t size) noexcept {
    if (p == nullptr) {
        return malloc(size);
    }
    if (of_first_memory(p)) {
        void *const moved = malloc(size);
        if (moved != nullptr) {
            std::memcpy(moved, p, std::min(size, first_size(p)));
        }
        return moved;
    }
    auto *const f = next_realloc.find();
    if (f == nullptr) {
        return nullptr;
    }
    if (!recording()) {
        return f(p, size);
    }
    const Inside inside;
    const std::uint64_t began = cairn::platform::ticks();
    void *const moved = f(p, size);
    if (size == 0 && moved == nullptr) {
        record(Op::free, p, 0, began);
    } else {
        record(Op::realloc_from, p, 0, began);
        record(Op::realloc_to, moved, size, cairn::platform::ticks());
    }
    return moved;
}

CAIRN_EXPORT void *reallocarray(void *p, size_t count, size_t size) noexcept {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(p, bytes);
}

CAIRN_EXPORT void *memalign(size_t alignment, size_t size) noexcept {
    auto *const f = next_memalign.find();
    return f == nullptr ? nullptr
                        : allocate(Op::aligned, size, alignment, [&] { return f(alignment, size); });
}

CAIRN_EXPORT void *aligned_alloc(size_t alignment, size_t size) noexcept {
    auto *const f = next_aligned_alloc.find();
    return f == nullptr ? nullptr
                        : allocate(Op::aligned, size, alignment, [&] { return f(alignment, size); });
}

CAIRN_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) noexcept {
    auto *const f = next_posix_memalign.find();
    if (f == nullptr) {
        return ENOMEM;
    }
    int error = 0;
    void *const p = allocate(Op::aligned, size, alignment, [&] {
        void *made = nullptr;
        error = f(&made, alignment, size);
        return error == 0 ? made : nullptr;
    });
    if (error == 0) {
        *out = p;
    }
    return error;
}

CAIRN_EXPORT void *valloc(size_t size) noexcept {
    return memalign(static_cast<size_t>(getpagesize()), size);
}
CAIRN_EXPORT void *pvalloc(size_t size) noexcept {
    const auto page = static_cast<size_t>(getpagesize());
    if (size > SIZE_MAX - page) {
        errno = ENOMEM;
        return nullptr;
    }
    return memalign(page, cairn::align_up(size == 0 ? page : size, page));
}

CAIRN_EXPORT void free_sized(void *p, size_t size) noexcept {
    release(p, size, [&] { plain_free(p); });
}
CAIRN_EXPORT void free_aligned_sized(void *p, size_t, size_t size) noexcept {
    release(p, size, [&] { plain_free(p); });
}

CAIRN_EXPORT size_t malloc_usable_size(void *p) noexcept {
    if (of_first_memory(p)) {
        return first_size(p);
    }
    auto *const f = next_usable_size.find();
    return f == nullptr ? 0 : f(p);
}

} // extern "C"

// The C++ forms, which an allocator may serve without its malloc.

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
CAIRN_OWN_NEW("_ZnwmSt11align_val_t") void *own_new_aligned(size_t, align_val_t);
CAIRN_OWN_NEW("_ZnamSt11align_val_t") void *own_new_array_aligned(size_t, align_val_t);
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

/// A fork that runs no handlers: its child would write to its parent's slot. No call of the C library's own comes here.
extern "C" CAIRN_EXPORT pid_t _Fork() noexcept {
    auto *const next = next_fork.find();
    if (next == nullptr) { // before glibc 2.34
        errno = ENOSYS;
        return -1;
    }
    const pid_t child = next();
    if (child == 0) {
        begin_in_child();
    }
    return child;
}

/// Where no constructor of another library has made a call before. What the loader allocates is not in the trace, and
/// neither is its end.
[[gnu::constructor(101)]] static void at_load(int, char **, char **environment) {
    cairn::set_environ_at_load(environment);
    next_fork.find(); // handlers of signals may call it, and may not look for it
    const Inside inside;
    begin();
}
