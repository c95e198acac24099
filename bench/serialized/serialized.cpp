// SPDX-License-Identifier: MIT
// Every thread x = malloc(s); free(x) (Hoard, section 2.2). In turn the program needs s bytes at any time, all at once
// it needs P s: --at-once 1 is that. An allocator that keeps what each thread has freed needs P s in turn as well.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"

#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(
        argc, argv,
        "every thread allocates a block and frees it, in turn or all at once (Hoard, section 2.2)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t size = options.number("size", 1 << 20, "bytes of a block");
    const bool at_once = options.number("at-once", 0, "1: all threads at the same time") != 0;
    const std::uint64_t rounds = options.work("rounds", 2000, "blocks of each thread");
    options.finish();

    std::barrier turn(static_cast<std::ptrdiff_t>(threads));
    const auto one = [size](std::uint64_t tag) {
        void *block = take(size, tag);
        touch_pages(block, size);
        return block;
    };
    run_crew(threads, [&](std::size_t self) {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (at_once) {
                void *block = one(round);
                turn.arrive_and_wait(); // all hold one
                drop(block, size, round);
            } else {
                for (std::size_t whose = 0; whose < threads; ++whose) {
                    if (whose == self)
                        drop(one(round), size, round);
                    turn.arrive_and_wait();
                }
            }
        }
        return 0;
    });
    std::printf("serialized: %" PRIu64 " blocks\n", rounds * threads);
}
