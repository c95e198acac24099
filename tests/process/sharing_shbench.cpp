// SPDX-License-Identifier: MIT
//
// In the manner of shbench (Hoard, 5.4): each thread allocates blocks of 8 to 100 bytes and frees them in
// random order. No two threads are handed parts of one cache line.
#include "sharing_lines.hpp"

using namespace process_test;

int main() {
    in_threads(8, [](unsigned thread) {
        struct Block {
            void *p;
            std::size_t size;
        };
        Block blocks[500]{};
        Random random(thread + 1);
        for (int i = 0; i < 100000; ++i) {
            Block &block = blocks[random.below(500)];
            if (block.p != nullptr) {
                sharing::give_back(block.p, block.size);
            }
            block.size = 8 + random.below(93);
            block.p = sharing::take(block.size, thread);
        }
        for (const Block &block : blocks) {
            if (block.p != nullptr) {
                sharing::give_back(block.p, block.size);
            }
        }
    });
    sharing::expect_none();
}
