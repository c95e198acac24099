// SPDX-License-Identifier: MIT
//
// Larson's server (LKmalloc, section 7): each thread replaces random blocks of a set, ends, and leaves the set
// to the thread after it. Lines that hold a block left so are the program's doing; no other line has live
// blocks that were handed to two threads.
#include "sharing_lines.hpp"

using namespace process_test;

namespace {

struct Block {
    void *p;
    std::size_t size;
};
constexpr unsigned sets = 8;
constexpr unsigned generations = 10;
Block blocks[sets][1000];

void serve(unsigned set, unsigned generation) {
    const unsigned thread = generation * sets + set;
    Random random(thread + 1);
    for (int i = 0; i < 10000; ++i) {
        Block &block = blocks[set][random.below(1000)];
        if (block.p != nullptr) {
            sharing::give_back(block.p, block.size);
        }
        block.size = 8 + random.below(93);
        block.p = sharing::take(block.size, thread);
    }
    for (const Block &block : blocks[set]) {
        if (block.p != nullptr) {
            sharing::pass_on(block.p, block.size);
        }
    }
}

} // namespace

int main() {
    in_threads(sets, [](unsigned set) {
        for (unsigned generation = 0; generation < generations; ++generation) {
            in_thread([=] { serve(set, generation); });
        }
    });
    sharing::expect_none();
}
