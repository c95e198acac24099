// SPDX-License-Identifier: MIT
// Idle pool: all threads of a pool burst at the same time, each allocates its share and frees it; then all sleep but
// one, which works: it allocates and frees as much as all did together. The next time another one works. The same
// amount is live at the top of a burst and of the work; what sleeping threads keep comes on top. With --together 0
// there is the work in turn only.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv, "all threads burst, then all but one sleep, which works (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads in the pool");
    const std::size_t megabytes = options.number("megabytes", 32, "live at the top, over all threads");
    const std::size_t low = options.some("low", 16, "smallest block");
    const std::size_t high = options.high(low, 1024, "largest block");
    const std::uint64_t rounds = options.work("rounds", 100, "bursts of all, and works of one");
    const bool together = options.number("together", 1, "0: no bursts of all") != 0;
    options.finish();

    struct Held {
        void *block;
        std::size_t size;
    };
    const std::size_t share = (megabytes << 20) / threads;
    Table<Held> common((megabytes << 20) / low +
                       1); // for whoever works, so that the threads themselves keep little
    const auto up_and_down = [=](Table<Held> &held, std::size_t bytes, std::uint64_t seed) {
        Random random(seed);
        std::size_t count = 0;
        for (std::size_t taken = 0; taken < bytes; ++count) {
            const std::size_t size = random.between(low, high);
            held[count] = {take(size, seed + count), size};
            taken += size;
        }
        for (std::size_t i = 0; i < count; ++i)
            drop(held[i].block, held[i].size, seed + i);
        return count;
    };
    std::barrier turn(static_cast<std::ptrdiff_t>(threads));
    const std::uint64_t blocks = run_crew(threads, [&](std::size_t self) {
        Table<Held> held(share / low + 1);
        std::uint64_t done = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (together)
                done += up_and_down(held, share, round * threads + self + 1);
            turn.arrive_and_wait();
            if (round % threads == self)
                done += up_and_down(common, megabytes << 20, ~round);
            turn.arrive_and_wait();
        }
        return done;
    });
    std::printf("idle_pool: %" PRIu64 " blocks\n", blocks);
}
