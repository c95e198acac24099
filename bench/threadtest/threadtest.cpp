// SPDX-License-Identifier: MIT
// threadtest (Hoard, section 5.2): t threads share nothing and do nothing but allocate, then free, 100,000/t
// objects of 8 bytes, over and over.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "each thread allocates, then frees, its share of the objects (Hoard, section 5.2)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t objects = options.number("objects", 100000, "objects live at once, over all threads");
    const std::size_t size = options.number("size", 8, "bytes of an object");
    const std::uint64_t rounds = options.work("rounds", 1000, "times that all are allocated and freed");
    options.finish();

    const std::size_t share = objects / threads;
    const std::uint64_t done = run_crew(threads, [=](std::size_t self) {
        Table<void *> held(share);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const std::uint64_t tag = (self << 56) ^ (round << 32);
            for (std::size_t i = 0; i < share; ++i)
                held[i] = take(size, tag + i);
            for (std::size_t i = 0; i < share; ++i)
                drop(held[i], size, tag + i);
        }
        return rounds * share;
    });
    std::printf("threadtest: %" PRIu64 " objects\n", done);
}
