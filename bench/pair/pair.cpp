// SPDX-License-Identifier: MIT
// A loop of malloc and free and next to nothing else, for counting instructions: each pair on its own
// (--batch 1), or a batch of mallocs and then their frees, in the same order. With --threads all do the same at one time.
#include "../common/crew.hpp"
#include "../common/options.hpp"

#include <array>
#include <cinttypes>

using namespace cairn::bench;

namespace {

constexpr std::size_t largest_batch = 1024;

// The compiler must not see that the block is never used.
void keep(void *block) {
    asm volatile("" : : "r"(block) : "memory");
}

void run_pairs(std::size_t size, std::uint64_t pairs) {
    for (std::uint64_t i = 0; i < pairs; ++i) {
        void *block = std::malloc(size);
        keep(block);
        std::free(block);
    }
}

void run_batches(std::size_t size, std::uint64_t pairs, std::size_t batch) {
    std::array<void *, largest_batch> held;
    for (std::uint64_t done = 0; done < pairs; done += batch) {
        for (std::size_t i = 0; i < batch; ++i) {
            held[i] = std::malloc(size);
            keep(held[i]);
        }
        for (std::size_t i = 0; i < batch; ++i)
            std::free(held[i]);
    }
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "malloc and free in a loop, for instruction counts");
    const std::size_t size = options.number("size", 64, "bytes of a block");
    const std::uint64_t pairs = options.work("pairs", 100000, "pairs of malloc and free");
    const std::size_t batch = options.number("batch", 1, "blocks allocated before the first is freed");
    const std::size_t threads = options.some("threads", 1, "threads, each with so many pairs");
    options.finish();
    if (batch == 0 || batch > largest_batch)
        options.refuse("batch", "outside 1 to 1024");
    const auto work = [=](std::size_t) {
        batch == 1 ? run_pairs(size, pairs) : run_batches(size, pairs, batch);
        return pairs;
    };
    threads == 1 ? work(0) : run_crew(threads, work);
    std::printf("pair: %" PRIu64 " pairs\n", pairs);
}
