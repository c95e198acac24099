// SPDX-License-Identifier: MIT
//
// Hoard's threadtest (Table 3): each thread allocates many blocks, frees all of them, and does so again. Whole
// superblocks pass through the global heap, parts of lines do not.
#include "sharing_lines.hpp"

using namespace process_test;

int main() {
    constexpr unsigned threads = 8;
    constexpr std::size_t each = 20000;
    static void *all[threads][each];
    for (const std::size_t size : {std::size_t{8}, std::size_t{40}, std::size_t{200}}) {
        in_threads(threads, [size](unsigned thread) {
            for (int round = 0; round < 6; ++round) {
                for (void *&p : all[thread]) {
                    p = sharing::take(size, thread);
                }
                for (void *const p : all[thread]) {
                    sharing::give_back(p, size);
                }
            }
        });
    }
    sharing::expect_none();
}
