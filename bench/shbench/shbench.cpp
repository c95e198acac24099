// SPDX-License-Identifier: MIT
// A mix like shbench's (Hoard, sections 5.2 and 5.4; the original is MicroQuill's): each thread allocates and frees
// blocks of random sizes in random order, and most of what is live at the end has been for long. Sizes are 1 to 1,000
// bytes, small ones more often: 152 on average. 4,200 blocks are live, 85 % of them from start to end: as many as
// Table 4 has (556,112 bytes live, 132 in an average block), some 640 KB here. The text of section 5.4 speaks of
// 550,000 objects, and of sizes of 8 to 100; neither goes with the table, nor with "very little memory" in section 5.1.
// For that reading: --blocks 550000 --low 8 --high 100.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

namespace {

void renew(Held &slot, Random &random, std::size_t low, std::size_t high) {
    slot.size = random.log_between(low, high);
    slot.tag = random.next();
    slot.block = take(slot.size, slot.tag);
}

} // namespace

int main(int argc, char **argv) {
    Options options(
        argc, argv,
        "random sizes in random order, with a long-lived remainder (Hoard, sections 5.2 and 5.4)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t blocks = options.number("blocks", 4200, "live blocks, over all threads");
    const std::size_t low = options.some("low", 1, "smallest block");
    const std::size_t high = options.high(low, 1000, "largest block");
    const std::size_t young = options.number("young", 15, "percent of the blocks that come and go");
    const std::uint64_t total = options.work("total", 50000000, "blocks allocated, over all threads");
    options.finish();

    const std::size_t share = blocks / threads + 1;
    const std::size_t changing = share * young / 100 + 1;
    const std::uint64_t each = total / threads;
    // Nobody is done before all have what they hold: else, with many threads, less is live.
    std::barrier turn(static_cast<std::ptrdiff_t>(threads));
    const std::uint64_t done = run_crew(threads, [=, &turn](std::size_t self) {
        Random random(self + 1);
        Table<Held> held(share);
        std::uint64_t count = 0;
        // The long-lived are allocated among the short-lived, so that they lie side by side.
        for (std::size_t i = 0; i < share; ++i, ++count)
            renew(held[i], random, low, high);
        for (std::size_t i = share - 1; i > 0; --i) {
            const std::size_t j = random.below(i + 1);
            const Held other = held[j];
            held[j] = held[i];
            held[i] = other;
        }
        for (; count < each; ++count) {
            Held &slot = held[random.below(changing)];
            drop(slot.block, slot.size, slot.tag);
            renew(slot, random, low, high);
        }
        turn.arrive_and_wait();
        for (std::size_t i = 0; i < share; ++i)
            drop(held[i].block, held[i].size, held[i].tag);
        return count;
    });
    std::printf("shbench: %" PRIu64 " blocks\n", done);
}
