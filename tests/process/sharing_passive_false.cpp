// SPDX-License-Identifier: MIT
//
// Hoard's passive-false (section 5.3): one thread allocates small blocks and gives neighbours to different threads,
// which free them and go on with blocks of their own. What they freed is not handed out to them: the pieces of a line
// that the program spread over threads come together again. The threads are there together from the first to the last
// free: with few heaps in use at a time, the bound on memory lets less lie about for the sake of lines.
#include "sharing_lines.hpp"

#include <barrier>

using namespace process_test;

int main() {
    constexpr unsigned threads = 8;
    constexpr std::size_t each = 8000;
    constexpr std::size_t size = 8;
    constexpr unsigned first_thread = threads; // the one that spreads
    static void *spread[threads][each];
    for (std::size_t i = 0; i < each; ++i) {
        for (auto &blocks : spread) {
            blocks[i] = sharing::take(size, first_thread);
        }
    }
    static std::barrier together(threads);
    in_threads(threads, [](unsigned thread) {
        sharing::give_back(sharing::take(size, thread), size);
        together.arrive_and_wait();
        for (void *&given : spread[thread]) {
            sharing::give_back(given, size);
            given = sharing::take(size, thread);
        }
        for (void *const p : spread[thread]) {
            sharing::give_back(p, size);
        }
        together.arrive_and_wait();
    });
    sharing::expect_none();
}
