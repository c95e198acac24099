// SPDX-License-Identifier: MIT
// A break of its own for a program that is preloaded with it: sbrk() moves in a mapping of 4 GiB. Under valgrind the
// real break ends after 8 MiB, and an allocator of 1988 has no other memory.
// Threads: as the kernel's, callers exclude each other.
#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

namespace {

constexpr std::intptr_t length = std::intptr_t{4} << 30;

char *start_of_break() {
    static char *const start = [] {
        void *const p =
            mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return p == MAP_FAILED ? nullptr : static_cast<char *>(p);
    }();
    return start;
}

} // namespace

extern "C" void *sbrk(std::intptr_t increment) noexcept {
    static std::intptr_t used = 0;
    char *const start = start_of_break();
    if (start == nullptr || increment > length - used || increment < -used) {
        errno = ENOMEM;
        return reinterpret_cast<void *>(std::intptr_t{-1});
    }
    char *const before = start + used;
    used += increment;
    return before;
}
