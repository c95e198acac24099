// SPDX-License-Identifier: MIT
// Producer and consumer: one thread of a pair allocates, the other frees, every block; a bounded queue of
// batches between them keeps the number of live blocks bounded. The pattern of pipelines and of Hoard's
// section 2.2 (blowup of private heaps), which an allocator survives only if remote frees come home.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/gauge.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cinttypes>
#include <memory>
#include <semaphore>

using namespace cairn::bench;

namespace {

struct Item {
    void *block;
    std::size_t size;
};

// A ring of batches between exactly two threads. The semaphores block, and never spin for long: there may be
// more pairs than processors.
struct Queue {
    Queue(std::size_t depth, std::size_t batch) : items(depth * batch), room(static_cast<long>(depth)) {}

    Table<Item> items;
    std::counting_semaphore<> room;
    std::counting_semaphore<> filled{0};
};

struct Plan {
    std::size_t depth, batch, low, high;
    std::uint64_t batches;
};

std::uint64_t produce(Queue &queue, const Plan &plan, std::uint64_t seed, Gauge &live) {
    Random random(seed);
    std::uint64_t requested = 0;
    for (std::uint64_t number = 0; number < plan.batches; ++number) {
        queue.room.acquire();
        const std::size_t first = (number % plan.depth) * plan.batch;
        const std::uint64_t before = requested;
        for (std::size_t i = 0; i < plan.batch; ++i) {
            const std::size_t size = random.between(plan.low, plan.high);
            queue.items[first + i] = {take(size, number + i), size};
            requested += size;
        }
        live.add(requested - before);
        queue.filled.release();
    }
    return requested;
}

std::uint64_t consume(Queue &queue, const Plan &plan, Gauge &live) {
    for (std::uint64_t number = 0; number < plan.batches; ++number) {
        queue.filled.acquire();
        const std::size_t first = (number % plan.depth) * plan.batch;
        std::uint64_t freed = 0;
        for (std::size_t i = 0; i < plan.batch; ++i) {
            drop(queue.items[first + i].block, queue.items[first + i].size, number + i);
            freed += queue.items[first + i].size;
        }
        live.take(freed);
        queue.room.release();
    }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "one thread allocates, another frees (Hoard, sections 2.2 and 4.2)");
    const std::size_t threads = options.some("threads", 2, "threads; each two are a pair, at least one pair");
    Plan plan{};
    plan.depth = options.some("depth", 64, "batches in the queue of a pair");
    plan.batch = options.number("batch", 100, "blocks of a batch");
    plan.low = options.number("low", 16, "smallest block");
    plan.high = options.high(plan.low, 256, "largest block");
    plan.batches = options.work("batches", 200000, "batches of a pair");
    options.finish();

    Gauge live;
    const std::size_t pairs = threads < 2 ? 1 : threads / 2;
    Table<std::unique_ptr<Queue>> queues(pairs);
    for (std::size_t i = 0; i < pairs; ++i)
        queues[i] = std::make_unique<Queue>(plan.depth, plan.batch);
    const std::uint64_t bytes = run_crew(pairs * 2, [&](std::size_t self) {
        Queue &queue = *queues[self / 2];
        return self % 2 == 0 ? produce(queue, plan, self + 1, live) : consume(queue, plan, live);
    });
    for (std::size_t i = 0; i < pairs; ++i)
        queues[i].reset();
    std::printf("producer_consumer: %" PRIu64 " blocks, %" PRIu64 " bytes requested\n",
                pairs * plan.batches * plan.batch, bytes);
}
