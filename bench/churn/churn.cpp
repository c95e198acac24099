// SPDX-License-Identifier: MIT
// Churn: 100 MB of small blocks are allocated, then freed, again and again. What an allocator pays to give
// memory back to the OS, and to get it again, shows here. The order of the frees changes from round to round:
// as allocated, backwards, scattered.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <chrono>
#include <cinttypes>
#include <numeric>

using namespace cairn::bench;

namespace {

// The order in which the blocks of a round are freed: place(i) runs through all of [0, count).
class Order {
public:
    Order(std::uint64_t round, std::size_t count) : kind_(round % 3), count_(count) {
        while (std::gcd(stride_, count) != 1)
            ++stride_;
    }
    std::size_t place(std::size_t i) const {
        return kind_ == 0 ? i : kind_ == 1 ? count_ - 1 - i : i * stride_ % count_;
    }

private:
    std::uint64_t kind_;
    std::size_t count_;
    std::size_t stride_ = 7919;
};

std::uint64_t tag_of(std::uint64_t round, std::size_t index) {
    return (round << 40) ^ index;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "many small blocks up, all of them down, repeatedly (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t megabytes = options.some("megabytes", 100, "live at the top, over all threads");
    const std::size_t low = options.some("low", 16, "smallest block");
    const std::size_t high = options.high(low, 256, "largest block");
    const std::uint64_t rounds = options.work("rounds", 24, "times up and down");
    const std::uint64_t pause = options.number("pause", 0, "milliseconds of rest after each way down");
    options.finish();

    const std::size_t count = megabytes * 1000000 / threads / ((low + high) / 2);
    const std::uint64_t bytes = run_crew(threads, [=](std::size_t self) {
        Table<void *> held(count);
        Table<std::uint32_t> sizes(count);
        Random random(self + 1);
        std::uint64_t requested = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t size = random.between(low, high);
                held[i] = take(size, tag_of(round, i));
                sizes[i] = static_cast<std::uint32_t>(size);
                requested += size;
            }
            const Order order(round, count);
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t victim = order.place(i);
                drop(held[victim], sizes[victim], tag_of(round, victim));
            }
            if (pause != 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(pause));
        }
        return requested;
    });
    std::printf("churn: %" PRIu64 " blocks, %" PRIu64 " bytes requested\n", threads * rounds * count, bytes);
}
