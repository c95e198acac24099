// SPDX-License-Identifier: MIT
// Class shift: fills memory with blocks of one size, frees them all, fills the same amount with another size, and so on
// through the sizes. The live bytes never grow; an allocator that can not use a size's memory for another one does.
// A fraction may be left behind in each step (--left).
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv, "fills memory with one size after another (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t megabytes = options.number("megabytes", 96, "live at a time, over all threads");
    const std::size_t low = options.number("low", 16, "smallest size");
    const std::size_t high = options.number("high", 65536, "largest size");
    const std::uint64_t left = options.number("left", 0, "of 1,000 blocks, those that stay to the end");
    const std::uint64_t rounds = options.work("rounds", 2, "times through the sizes");
    options.finish();

    const std::size_t share = (megabytes << 20) / threads;
    std::barrier turn(
        static_cast<std::ptrdiff_t>(threads)); // all are at the top, and at the bottom, together
    const std::uint64_t done = run_crew(threads, [=, &turn](std::size_t) {
        Table<void *> held(share / low + 1);
        Table<void *> kept(share / low / 10 + 1000);
        Table<std::size_t> kept_size(kept.size());
        std::size_t stay = 0;
        std::uint64_t blocks = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            for (std::size_t size = low; size <= high; size += size / 2) {
                const std::size_t count = share / size;
                for (std::size_t i = 0; i < count; ++i) {
                    held[i] = take(size, size + i);
                    touch_pages(held[i], size);
                }
                turn.arrive_and_wait();
                for (std::size_t i = 0; i < count; ++i) {
                    if (left != 0 && i % 1000 < left && stay < kept.size()) {
                        stamp(held[i], size, stay);
                        kept_size[stay] = size;
                        kept[stay++] = held[i];
                    } else {
                        drop(held[i], size, size + i);
                    }
                }
                blocks += count;
                turn.arrive_and_wait();
            }
        }
        for (std::size_t i = 0; i < stay; ++i)
            drop(kept[i], kept_size[i], i);
        return blocks;
    });
    std::printf("class_shift: %" PRIu64 " blocks\n", done);
}
