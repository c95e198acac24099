// SPDX-License-Identifier: MIT
// A pool of workers, usually more of them than processors: each turn of one allocates some blocks of many sizes, leaves
// one of them behind in a place that all share, takes away what lay there, mostly another worker's, and frees all that
// it has. Little is live at any moment, most of the memory is what an allocator keeps for each thread.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <array>
#include <cinttypes>
#include <mutex>
#include <utility>

using namespace cairn::bench;

namespace {

std::size_t draw_size(Random &random) {
    return random.below(8) == 0 ? random.between(512, 8000) : random.between(16, 511);
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "a pool of threads, of each of which little is live (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t blocks = options.some("blocks", 40, "blocks of a turn");
    const std::size_t places = options.some("places", 1024, "blocks that stay behind, over all threads");
    const std::uint64_t turns = options.work("turns", 1000000, "over all threads");
    options.finish();

    Table<Held> shared(places);
    constexpr std::size_t stripes = 64;
    std::array<std::mutex, stripes> locks;
    const std::uint64_t done = run_crew(threads, [&](std::size_t self) {
        Table<Held> held(blocks);
        Random random(self + 1);
        for (std::uint64_t turn = 0; turn < turns / threads; ++turn) {
            for (std::size_t i = 0; i < blocks; ++i) {
                const std::size_t size = draw_size(random);
                const std::uint64_t tag = random.next();
                held[i] = {take(size, tag), size, tag};
            }
            {
                const std::size_t place = random.below(places);
                const std::scoped_lock hold(locks[place % stripes]);
                std::swap(shared[place], held[random.below(blocks)]);
            }
            for (std::size_t i = 0; i < blocks; ++i)
                if (held[i].block != nullptr)
                    drop(held[i].block, held[i].size, held[i].tag);
        }
        return turns / threads;
    });
    for (std::size_t i = 0; i < places; ++i)
        if (shared[i].block != nullptr)
            drop(shared[i].block, shared[i].size, shared[i].tag);
    std::printf("workers: %" PRIu64 " turns of %zu blocks\n", done, blocks);
}
