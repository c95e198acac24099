// SPDX-License-Identifier: MIT
//
// malloc_usable_size is no less than was asked for, and all of it is the program's: neighbours written full
// to their usable ends leave each other alone.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    for (std::size_t size = 0; size < 24 * MiB; size = size < 4096 ? size + 3 : size + size / 5 + 1) {
        constexpr unsigned neighbours = 3;
        unsigned char *blocks[neighbours];
        std::size_t usable[neighbours];
        for (unsigned i = 0; i < neighbours; ++i) {
            blocks[i] = static_cast<unsigned char *>(malloc(size));
            CHECK(blocks[i] != nullptr);
            usable[i] = malloc_usable_size(blocks[i]);
            CHECK(usable[i] >= size);
            std::memset(blocks[i], static_cast<int>(i + 1), usable[i]);
        }
        for (unsigned i = 0; i < neighbours; ++i) {
            CHECK(blocks[i][0] == i + 1 && blocks[i][usable[i] / 2] == i + 1 &&
                  blocks[i][usable[i] - 1] == i + 1);
            for (std::size_t at = 0; at < usable[i]; at += size < 4096 ? 1 : 997) {
                CHECK(blocks[i][at] == i + 1);
            }
            free(blocks[i]);
        }
    }
}
