// SPDX-License-Identifier: MIT
//
// The names of malloc and its family in front of whichever allocator comes next: each call goes there and is recorded.
//
// An allocator's calls of itself, and what the writer needs, are not recorded. Before dlsym has found the next
// allocator, a small buffer serves: dlsym itself may ask for memory.
#include "interpose.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/cpu.hpp>
#include <cairn/platform/fatal.hpp>
#include <src/malloc/environment.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
size_t first_size(const void *p) {
    size_t size = 0;
    std::memcpy(&size, static_cast<const char *>(p) - 16, sizeof size);
    return size;
}

constinit Next<void *(size_t)> next_malloc{"malloc"};
constinit Next<void(void *)> next_free{"free"};
constinit Next<void *(size_t, size_t)> next_calloc{"calloc"};
constinit Next<void *(void *, size_t)> next_realloc{"realloc"};
constinit Next<void *(size_t, size_t)> next_memalign{"memalign"};
constinit Next<void *(size_t, size_t)> next_aligned_alloc{"aligned_alloc"};
constinit Next<int(void **, size_t, size_t)> next_posix_memalign{"posix_memalign"};
constinit Next<size_t(void *)> next_usable_size{"malloc_usable_size"};
constinit Next<pid_t()> next_fork{"_Fork"};

} // namespace

bool cairn::trace::of_first_memory(const void *p) noexcept {
    return address_of(p) - address_of(first_memory) < sizeof first_memory;
}

void cairn::trace::plain_free(void *p) noexcept {
    if (auto *const f = next_free.find()) {
        f(p);
    }
}

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
