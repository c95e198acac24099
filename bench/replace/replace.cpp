// SPDX-License-Identifier: MIT
// A few live blocks in each of many size classes: a thread holds --live blocks, and replaces one drawn at random by one
// of a size drawn anew. As in glibc's benchtests/bench-malloc-thread.c these are 1,024 blocks of 4 bytes to 32 KiB, a
// size being the less likely by the square of it. --spread doubling: each doubling is as likely; even: each size, and
// most bytes are in long blocks.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <algorithm>
#include <cinttypes>
#include <iterator>
#include <string_view>

using namespace cairn::bench;

namespace {

using Draw = std::uint64_t (*)(Random &random, std::uint64_t low, std::uint64_t high);

struct Spread {
    std::string_view name;
    Draw draw;
};

constexpr Spread spreads[] = {
    {"square", [](Random &random, std::uint64_t low,
                  std::uint64_t high) { return low * high / (high - random.below(high - low + 1)); }},
    {"doubling",
     [](Random &random, std::uint64_t low, std::uint64_t high) { return random.log_between(low, high); }},
    {"even", [](Random &random, std::uint64_t low, std::uint64_t high) { return random.between(low, high); }},
};

const Spread *find_spread(std::string_view name) {
    const Spread *const found =
        std::find_if(std::begin(spreads), std::end(spreads), [=](const Spread &s) { return s.name == name; });
    return found != std::end(spreads) ? found : nullptr;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "few live blocks in each of many size classes, replaced at random (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t live = options.some("live", 1024, "blocks that a thread holds");
    const std::size_t low = options.some("low", 4, "smallest block");
    const std::size_t high = options.number("high", 32768, "largest block");
    const char *const spread_name = options.word("spread", "square", "of the sizes: square, doubling, even");
    const std::uint64_t steps = options.work("steps", 20000000, "replacements of a thread");
    options.finish();
    if (high < low)
        options.refuse("high", "less than --low");
    const Spread *const spread = find_spread(spread_name);
    if (spread == nullptr)
        options.refuse("spread", spread_name);

    const std::uint64_t bytes = run_crew(threads, [=](std::size_t self) {
        Random random(self + 1);
        Table<Held> held(live);
        std::uint64_t requested = 0;
        for (std::uint64_t step = 0; step < steps; ++step) {
            Held &slot = held[step < live ? step : random.below(live)];
            if (slot.block != nullptr)
                drop(slot.block, slot.size, slot.tag);
            slot.size = spread->draw(random, low, high);
            slot.tag = step;
            slot.block = take(slot.size, slot.tag);
            touch_pages(slot.block, slot.size);
            requested += slot.size;
        }
        for (std::size_t i = 0; i < live; ++i) {
            if (held[i].block != nullptr)
                drop(held[i].block, held[i].size, held[i].tag);
        }
        return requested;
    });
    std::printf("replace: %" PRIu64 " replacements, %" PRIu64 " bytes requested\n", threads * steps, bytes);
}
