// SPDX-License-Identifier: MIT
//
// A count times a size that overflows is out of memory, not a short block; the old block stays as it was.
#include "process_test.hpp"

#include <cerrno>

using namespace process_test;

int main() {
    struct Pair {
        std::size_t count;
        std::size_t size;
    };
    auto *const block = static_cast<char *>(malloc(100));
    std::memset(block, 7, 100);
    for (const Pair &asked : {Pair{SIZE_MAX, 2}, Pair{2, SIZE_MAX}, Pair{SIZE_MAX, SIZE_MAX},
                              Pair{SIZE_MAX / 2 + 1, 2}, Pair{std::size_t{1} << 32, std::size_t{1} << 32},
                              Pair{SIZE_MAX / 16 + 2, 16}, Pair{(std::size_t{1} << 63) + 8, 2}}) {
        errno = 0;
        CHECK(calloc(opaque(asked.count), opaque(asked.size)) == nullptr && errno == ENOMEM);
        errno = 0;
        CHECK(reallocarray(nullptr, opaque(asked.count), opaque(asked.size)) == nullptr && errno == ENOMEM);
        errno = 0;
        CHECK(reallocarray(block, opaque(asked.count), opaque(asked.size)) == nullptr && errno == ENOMEM);
        for (int i = 0; i < 100; ++i) {
            CHECK(block[i] == 7);
        }
    }
    free(block);
}
