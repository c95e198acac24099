// SPDX-License-Identifier: MIT
// Class shift: fills memory with blocks of one size, frees them all, fills the same amount with another size, and so on
// through the sizes. The live bytes never grow; an allocator that can not use a size's memory for another one does.
// With --stay some blocks of each size, evenly among the others, live on to the end of the round: what lies between
// them is free for the sizes that follow if an allocator can use it.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <algorithm>
#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv, "fills memory with one size after another (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t megabytes = options.number("megabytes", 96, "live of one size, over all threads");
    const std::size_t low = options.some("low", 16, "smallest size");
    const std::size_t high = options.number("high", 65536, "largest size");
    const std::size_t growth =
        options.some("growth", 50, "percent that a size is larger than the one before");
    const std::size_t stay =
        options.number("stay", 0, "one of so many blocks stays to the end of the round; 0: none");
    const std::uint64_t rounds = options.work("rounds", 2, "times through the sizes");
    options.finish();
    if (high < low)
        options.refuse("high", "less than --low");

    const std::size_t share = (megabytes << 20) / threads;
    const auto each_size = [=](auto visit) {
        for (std::size_t size = low; size <= high; size += std::max<std::size_t>(1, size * growth / 100))
            visit(size, share / size);
    };
    std::size_t staying = 0;
    each_size([&](std::size_t, std::size_t count) { staying += stay != 0 ? count / stay + 1 : 0; });
    std::barrier turn(
        static_cast<std::ptrdiff_t>(threads)); // all are at the top, and at the bottom, together
    const std::uint64_t done = run_crew(threads, [=, &turn](std::size_t) {
        Table<void *> held(share / low + 1);
        Table<void *> kept(staying);
        std::uint64_t blocks = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::size_t last = 0;
            each_size([&](std::size_t size, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i) {
                    held[i] = take(size, size + i);
                    touch_pages(held[i], size);
                }
                turn.arrive_and_wait();
                for (std::size_t i = 0; i < count; ++i) {
                    if (stay != 0 && i % stay == 0)
                        kept[last++] = held[i];
                    else
                        drop(held[i], size, size + i);
                }
                blocks += count;
                turn.arrive_and_wait();
            });
            std::size_t first = 0;
            each_size([&](std::size_t size, std::size_t count) {
                for (std::size_t i = 0; stay != 0 && i < count; i += stay)
                    drop(kept[first++], size, size + i);
            });
        }
        return blocks;
    });
    std::printf("class_shift: %" PRIu64 " blocks\n", done);
}
