// SPDX-License-Identifier: MIT
// Large objects: blocks of 64 KiB to 8 MiB come and go in random order, all their pages written; and between
// them arrays grow by realloc, a half at a time, from 64 KiB to 16 MiB, as a vector or a read buffer does.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cinttypes>

using namespace cairn::bench;

namespace {

constexpr std::size_t smallest = 64 << 10;
constexpr std::size_t grown = 16 << 20;

void renew(Held &slot, std::size_t size, std::uint64_t tag) {
    if (slot.block != nullptr)
        drop(slot.block, slot.size, slot.tag);
    slot = {take(size, tag), size, tag};
    touch_pages(slot.block, size);
}

std::uint64_t grow_array(std::uint64_t tag) {
    std::size_t size = smallest;
    void *array = take(size, tag);
    touch_pages(array, size);
    while (size < grown) {
        const std::size_t wanted = size + size / 2;
        void *moved = std::realloc(array, wanted);
        expect_sound(moved, wanted);
        if (!stamped(moved, size, tag))
            wrong("realloc lost the contents", moved, wanted);
        array = moved;
        stamp(array, wanted, tag);
        touch_pages(static_cast<char *>(array) + size, wanted - size);
        size = wanted;
    }
    drop(array, size, tag);
    return size;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "blocks of 64 KiB to 8 MiB, and arrays that grow by realloc (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t slots = options.number("slots", 16, "blocks that a thread holds");
    const std::size_t largest = options.number("high", 8 << 20, "largest block");
    const std::uint64_t steps = options.work("steps", 2000, "replacements of a thread");
    const std::uint64_t between = options.some("between", 50, "replacements for each array grown");
    options.finish();
    if (largest < smallest)
        options.refuse("high", "less than 64 KiB");

    const std::uint64_t bytes = run_crew(threads, [=](std::size_t self) {
        Random random(self + 1);
        Table<Held> held(slots);
        std::uint64_t requested = 0;
        for (std::uint64_t step = 0; step < steps; ++step) {
            Held &slot = held[random.below(slots)];
            renew(slot, random.log_between(smallest, largest), random.next());
            requested += slot.size;
            if (step % between == 0)
                requested += grow_array(random.next());
        }
        for (std::size_t i = 0; i < slots; ++i) {
            if (held[i].block != nullptr)
                drop(held[i].block, held[i].size, held[i].tag);
        }
        return requested;
    });
    std::printf("large: %" PRIu64 " replacements, %" PRIu64 " bytes requested\n", threads * steps, bytes);
}
