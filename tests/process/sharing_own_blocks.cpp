// SPDX-License-Identifier: MIT
//
// Threads that hold a steady number of blocks of 8 to 256 bytes and replace them in random order, each only its
// own, all at one time: no cache line has live blocks of two of them.
#include "sharing_lines.hpp"

using namespace process_test;

namespace {

constexpr unsigned most = 8;

struct Block {
    void *p;
    std::size_t size;
};
Block blocks[most][4000];
pthread_barrier_t all_here;

void replace_own(unsigned thread) {
    Random random(thread + 1);
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < 200000; ++i) {
        Block &block = blocks[thread][random.below(4000)];
        if (block.p != nullptr) {
            sharing::give_back(block.p, block.size);
        }
        block.size = 8 + random.below(249);
        block.p = sharing::take(block.size, thread);
    }
    pthread_barrier_wait(&all_here);
    for (Block &block : blocks[thread]) {
        if (block.p != nullptr) {
            sharing::give_back(block.p, block.size);
            block.p = nullptr;
        }
    }
}

} // namespace

int main() {
    for (const unsigned threads : {2u, most}) {
        CHECK(pthread_barrier_init(&all_here, nullptr, threads) == 0);
        in_threads(threads, replace_own);
        CHECK(pthread_barrier_destroy(&all_here) == 0);
    }
    sharing::expect_none();
}
