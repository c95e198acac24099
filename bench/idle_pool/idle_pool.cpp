// SPDX-License-Identifier: MIT
// Idle pool: a pool of threads of which one works at a time: it allocates a burst, frees it, and sleeps while the next
// one has its burst. One burst is live at any time; what sleeping threads keep comes on top.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cinttypes>
#include <memory>
#include <semaphore>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv, "threads burst one after the other, and sleep in between");
    const std::size_t threads = options.number("threads", 2, "threads in the pool");
    const std::size_t megabytes = options.number("megabytes", 32, "of a burst");
    const std::size_t low = options.number("low", 16, "smallest block");
    const std::size_t high = options.number("high", 1024, "largest block");
    const std::uint64_t bursts = options.work("bursts", 200, "over all threads");
    options.finish();

    struct Held {
        void *block;
        std::size_t size;
    };
    Table<Held> held((megabytes << 20) / low + 1);
    Table<std::unique_ptr<std::binary_semaphore>> turns(threads);
    for (std::size_t i = 0; i < threads; ++i)
        turns[i] = std::make_unique<std::binary_semaphore>(i == 0 ? 1 : 0);
    const std::uint64_t blocks = run_crew(threads, [&](std::size_t self) {
        std::uint64_t done = 0;
        for (std::uint64_t burst = self; burst < bursts; burst += threads) {
            turns[self]->acquire();
            Random random(burst + 1);
            std::size_t count = 0;
            for (std::size_t bytes = 0; bytes < megabytes << 20; ++count) {
                const std::size_t size = random.between(low, high);
                held[count] = {take(size, burst + count), size};
                bytes += size;
            }
            for (std::size_t i = 0; i < count; ++i)
                drop(held[i].block, held[i].size, burst + i);
            done += count;
            turns[(self + 1) % threads]->release();
        }
        return done;
    });
    for (std::size_t i = 0; i < threads; ++i)
        turns[i].reset();
    std::printf("idle_pool: %" PRIu64 " blocks\n", blocks);
}
