// SPDX-License-Identifier: MIT
// All threads share one array of slots: each step puts a fresh block into a slot drawn at random, by an atomic
// exchange, and frees what was there. Of t threads all allocate all the time, and of the frees (t-1)/t are of another
// thread's block, of any thread's. Nobody but the block itself can tell whose it is: its tag is its slot and its size.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <atomic>
#include <cinttypes>

using namespace cairn::bench;

namespace {

constexpr int tag_half = 32;
constexpr std::uint64_t most_in_tag = (std::uint64_t{1} << tag_half) - 1;

std::uint64_t tag_of(std::size_t slot, std::size_t size) {
    return std::uint64_t{slot} << tag_half | size;
}

// What lay in a slot; nullptr if nothing did. A size that no block has is not believed, since the tail is looked for by
// it.
void drop_found(void *block, std::size_t slot, std::size_t low, std::size_t high) {
    if (block == nullptr)
        return;
    std::uint64_t tag = 0;
    std::memcpy(&tag, block, tag_size);
    const std::size_t size = tag & most_in_tag;
    if (size < low || size > high)
        wrong("contents of a live block changed", block, low);
    drop(block, size, tag_of(slot, size));
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "threads that exchange blocks in one shared array (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t slots = options.some("slots", 10000, "blocks that live, over all threads");
    const std::size_t low = options.number("low", 16, "smallest block, at least 8 bytes");
    const std::size_t high = options.number("high", 1024, "largest block");
    const std::uint64_t steps = options.work("steps", 12000000, "exchanges, over all threads");
    options.finish();
    if (slots > most_in_tag)
        options.refuse("slots", "too many");
    if (low < tag_size)
        options.refuse("low", "less than 8");
    if (high < low)
        options.refuse("high", "less than --low");
    if (high > most_in_tag)
        options.refuse("high", "too long");

    Table<void *> shared(slots);
    const std::uint64_t bytes = run_crew(threads, [&](std::size_t self) {
        Random random(self + 1);
        std::uint64_t requested = 0;
        for (std::uint64_t step = 0; step < steps / threads; ++step) {
            const std::size_t slot = random.below(slots);
            const std::size_t size = random.between(low, high);
            void *const fresh = take(size, tag_of(slot, size));
            touch_pages(fresh, size);
            // Pairs with itself: who takes the block out has what was written by the one who put it in.
            void *const found = std::atomic_ref(shared[slot]).exchange(fresh, std::memory_order_acq_rel);
            if (found == fresh)
                wrong("a live block was handed out", fresh, size);
            drop_found(found, slot, low, high);
            requested += size;
        }
        return requested;
    });
    for (std::size_t i = 0; i < slots; ++i)
        drop_found(shared[i], i, low, high);
    std::printf("shared_slots: %" PRIu64 " exchanges, %" PRIu64 " bytes requested\n",
                steps / threads * threads, bytes);
}
