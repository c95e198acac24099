// SPDX-License-Identifier: MIT
// Heirs: a thread allocates blocks and ends; the next one frees them in the order in which they were made, allocates as
// many and ends. Nearly every free is of a block whose thread is gone, as where a pool starts its threads anew, or one
// thread reads what others work on.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cinttypes>
#include <thread>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv, "threads that free what ended ones have left (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "chains of threads at work at once");
    const std::size_t blocks = options.some("blocks", 100000, "blocks that a thread leaves");
    const std::size_t low = options.number("low", 16, "smallest block");
    const std::size_t high = options.number("high", 316, "largest block");
    const std::uint64_t rounds = options.work("rounds", 60, "threads of a chain, one after the other");
    options.finish();
    if (high < low)
        options.refuse("high", "less than --low");

    const std::uint64_t bytes = run_crew(threads, [=](std::size_t self) {
        Random random(self + 1);
        Table<Held> left(blocks);
        std::uint64_t requested = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::thread([&] {
                for (std::size_t i = 0; round != 0 && i < blocks; ++i)
                    drop(left[i].block, left[i].size, left[i].tag);
                for (std::size_t i = 0; i < blocks; ++i) {
                    const std::size_t size = random.between(low, high);
                    left[i] = {take(size, round + i), size, round + i};
                    requested += size;
                }
            }).join();
        }
        for (std::size_t i = 0; i < blocks; ++i)
            drop(left[i].block, left[i].size, left[i].tag);
        return requested;
    });
    std::printf("heirs: %" PRIu64 " blocks, %" PRIu64 " bytes requested\n", threads * rounds * blocks, bytes);
}
