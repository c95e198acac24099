// SPDX-License-Identifier: MIT
//
// Hoard's active-false (section 5.3): each thread allocates a small block, writes it, frees it. No two threads
// are handed parts of one cache line.
#include "sharing_lines.hpp"

using namespace process_test;

int main() {
    in_threads(8, [](unsigned thread) {
        Random random(thread + 1);
        for (int i = 0; i < 50000; ++i) {
            const std::size_t size = 8 + random.below(57);
            void *const p = sharing::take(size, thread);
            sharing::give_back(p, size);
        }
    });
    sharing::expect_none();
}
