// SPDX-License-Identifier: MIT
// ulimit-v: 131072
//
// realloc to fewer bytes works when there is no memory: where no block is to be had that is shorter, the old one stays.
#include "process_test.hpp"

#include <cerrno>

using namespace process_test;

static void *blocks[1'000'000];

int main() {
    for (const std::size_t size : {std::size_t{3 * MiB}, std::size_t{100'000}, std::size_t{20'000},
                                   std::size_t{5000}, std::size_t{1000}, std::size_t{200}}) {
        std::size_t count = 0;
        while (count < sizeof blocks / sizeof blocks[0] && (blocks[count] = malloc(size)) != nullptr) {
            ++count;
        }
        CHECK(count > 10 && errno == ENOMEM);
        for (std::size_t less = size; less >= 8; less /= 3) {
            std::memset(blocks[0], 'x', less);
            void *const p = realloc(blocks[0], less);
            CHECK(p != nullptr && *static_cast<char *>(p) == 'x' && static_cast<char *>(p)[less - 1] == 'x');
            blocks[0] = p;
        }
        for (std::size_t i = 0; i < count; ++i) {
            free(blocks[i]);
        }
    }
}
