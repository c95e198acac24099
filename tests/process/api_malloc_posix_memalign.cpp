// SPDX-License-Identifier: MIT
//
// posix_memalign answers by its value: EINVAL for an alignment that is no power of two or below a pointer's
// size, ENOMEM, or 0; errno and, on failure, the caller's pointer stay untouched.
#include "process_test.hpp"

#include <cerrno>

using namespace process_test;

int main() {
    int mark = 0;
    for (const std::size_t bad : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4},
                                  std::size_t{7}, std::size_t{24}, std::size_t{4097}}) {
        void *out = &mark;
        errno = 77;
        CHECK(posix_memalign(&out, opaque(bad), 100) == EINVAL);
        CHECK(out == &mark && errno == 77);
    }
    void *out = &mark;
    // The second the heap asks the system for, which refuses: it is more than there are addresses.
    for (const std::size_t too_much : {std::size_t{PTRDIFF_MAX}, std::size_t{1} << 58}) {
        CHECK(posix_memalign(&out, 64, opaque(too_much)) == ENOMEM);
        CHECK(out == &mark && errno == 77);
    }
    for (std::size_t alignment = sizeof(void *); alignment <= 64 * MiB; alignment *= 2) {
        CHECK(posix_memalign(&out, alignment, 100) == 0);
        CHECK(out != &mark && reinterpret_cast<std::uintptr_t>(out) % alignment == 0 && errno == 77);
        free(out);
        CHECK(posix_memalign(&out, alignment, 0) == 0 && out != nullptr);
        free(out);
    }
}
