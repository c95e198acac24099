// SPDX-License-Identifier: MIT
// Random sizes and random lifetimes, each thread on its own: the mix that most programs come nearest to.
// 98 % of the blocks have 8 to 1,000 bytes, 1.98 % go up to 32 KiB, one in 5,000 up to 512 KiB. A block lives
// until its slot is drawn again, and slots are drawn unevenly: some blocks live for a few calls, some for
// hundreds of thousands. One replacement in 16 is a realloc, one in 16 a calloc.
#include "../common/random.hpp"
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <algorithm>
#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

namespace {

std::size_t draw_size(Random &random) {
    const std::uint64_t kind = random.below(5000);
    if (kind == 0)
        return random.between(32 << 10, 512 << 10);
    if (kind < 100)
        return random.between(1001, 32 << 10);
    return random.log_between(8, 1000);
}

// The square of a uniform draw favours low slots: their blocks die young.
std::size_t draw_slot(Random &random, std::size_t slots) {
    const std::uint64_t draw = random.below(1 << 16);
    return static_cast<std::size_t>((draw * draw * slots) >> 32);
}

void expect_zeroed(const void *block, std::size_t size) {
    const char *bytes = static_cast<const char *>(block);
    if (bytes[0] != 0 || bytes[size / 2] != 0 || bytes[size - 1] != 0)
        wrong("calloc gave a block that is not zero", block, size);
}

void renew(Held &slot, Random &random) {
    const std::size_t size = draw_size(random);
    const std::uint64_t tag = random.next();
    const std::uint64_t way = tag >> 60;
    if (slot.block != nullptr && way == 0) {
        const std::size_t kept = std::min(size, slot.size);
        stamp(slot.block, kept, slot.tag);
        slot.block = std::realloc(slot.block, size);
        expect_sound(slot.block, size);
        if (!stamped(slot.block, kept, slot.tag))
            wrong("realloc lost the contents", slot.block, size);
        stamp(slot.block, size, tag);
    } else {
        if (slot.block != nullptr)
            drop(slot.block, slot.size, slot.tag);
        if (way == 1) {
            slot.block = std::calloc(1, size);
            expect_sound(slot.block, size);
            expect_zeroed(slot.block, size);
            stamp(slot.block, size, tag);
        } else {
            slot.block = take(size, tag);
        }
    }
    touch_pages(slot.block, size);
    slot.size = size;
    slot.tag = tag;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "random sizes, random lifetimes, nothing shared between threads (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t slots = options.number("slots", 20000, "blocks that a thread holds at most");
    const std::uint64_t steps = options.work("steps", 16000000, "replacements of a thread");
    options.finish();

    // Nobody is done before all have what they hold: else, with many threads, less is live.
    std::barrier turn(static_cast<std::ptrdiff_t>(threads));
    const std::uint64_t bytes = run_crew(threads, [=, &turn](std::size_t self) {
        Random random(self + 1);
        Table<Held> held(slots);
        std::uint64_t requested = 0;
        for (std::uint64_t step = 0; step < steps; ++step) {
            Held &slot = held[draw_slot(random, slots)];
            renew(slot, random);
            requested += slot.size;
        }
        turn.arrive_and_wait();
        for (std::size_t i = 0; i < slots; ++i) {
            if (held[i].block != nullptr)
                drop(held[i].block, held[i].size, held[i].tag);
        }
        return requested;
    });
    std::printf("random: %" PRIu64 " replacements, %" PRIu64 " bytes requested\n", threads * steps, bytes);
}
