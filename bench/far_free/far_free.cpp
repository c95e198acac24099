// SPDX-License-Identifier: MIT
// The freer never allocates: some threads replace the blocks of a bounded live set, and every block, in the end those
// of the live set too, is freed by one other thread, which allocates nothing. The live set stays as it is; what an
// allocator keeps for owners that have not looked, or for a freer that never allocates, grows.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/gauge.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cinttypes>
#include <memory>
#include <semaphore>
#include <utility>

using namespace cairn::bench;

namespace {

struct Item {
    void *block;
    std::size_t size;
    std::uint64_t tag;
};

constexpr std::size_t batch = 64;
constexpr std::size_t depth = 16;

/// From one allocating thread to the freer.
struct Queue {
    Table<Item> items{batch * depth};
    std::counting_semaphore<> room{depth};
};

std::size_t align_to_batch(std::size_t count) {
    return (count / batch + 1) * batch;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "one thread frees for all others (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads, the freer included");
    const std::size_t megabytes = options.number("megabytes", 370, "live, over all threads");
    const std::size_t low = options.some("low", 16, "smallest block");
    const std::size_t high = options.high(low, 1024, "largest block");
    const std::uint64_t batches = options.work("batches", 100000, "of 64 blocks, over all threads");
    options.finish();

    Gauge live;
    const std::size_t makers = threads < 2 ? 1 : threads - 1;
    const std::size_t slots = align_to_batch((megabytes << 20) / ((low + high) / 2) / makers);
    // At the end the live set goes the same way.
    const std::uint64_t replaced = batches / makers + 1;
    const std::uint64_t each = replaced + slots / batch;
    Table<std::unique_ptr<Queue>> queues(makers);
    for (std::size_t i = 0; i < makers; ++i)
        queues[i] = std::make_unique<Queue>();
    std::counting_semaphore<> filled{0};
    Table<std::size_t> order(each * makers); // whose batch comes next
    std::size_t posted = 0;
    std::binary_semaphore posting{1};

    const auto free_all = [&] {
        Table<std::uint64_t> seen(makers);
        for (std::uint64_t i = 0; i < each * makers; ++i) {
            filled.acquire();
            Queue &queue = *queues[order[i]];
            const std::size_t first = seen[order[i]]++ % depth * batch;
            std::uint64_t freed = 0;
            for (std::size_t j = first; j < first + batch; ++j) {
                drop(queue.items[j].block, queue.items[j].size, queue.items[j].tag);
                freed += queue.items[j].size;
            }
            live.take(freed);
            queue.room.release();
        }
        return std::uint64_t{0};
    };
    const auto make = [&](std::size_t self) {
        Random random(self + 1);
        std::uint64_t made = 0;
        const auto fresh = [&] {
            const std::size_t size = random.between(low, high);
            const std::uint64_t tag = random.next();
            made += size;
            return Item{take(size, tag), size, tag};
        };
        Table<Item> held(slots);
        for (std::size_t i = 0; i < slots; ++i)
            held[i] = fresh();
        live.add(std::exchange(made, 0));
        Queue &queue = *queues[self];
        for (std::uint64_t number = 0; number < each; ++number) {
            queue.room.acquire();
            Item *const items = &queue.items[number % depth * batch];
            for (std::size_t j = 0; j < batch; ++j) {
                if (number < replaced) {
                    Item &slot = held[random.below(slots)];
                    items[j] = slot;
                    slot = fresh();
                } else {
                    items[j] = held[(number - replaced) * batch + j];
                }
            }
            live.add(std::exchange(made, 0));
            posting.acquire();
            order[posted++] = self;
            posting.release();
            filled.release();
        }
        return each * batch;
    };
    const std::uint64_t blocks =
        run_crew(makers + 1, [&](std::size_t self) { return self == makers ? free_all() : make(self); });
    for (std::size_t i = 0; i < makers; ++i)
        queues[i].reset();
    std::printf("far_free: %" PRIu64 " blocks\n", blocks);
}
