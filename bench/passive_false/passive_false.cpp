// SPDX-License-Identifier: MIT
// passive-false (Hoard, section 5.3): one thread allocates small objects and gives one to each thread, which frees it at
// once and goes on as in active-false. The time grows if the allocator lets each thread use again the piece of the line
// that the program gave it.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/hammer.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "each thread frees an object of a line it shares, then writes much on its own");
    const std::size_t threads = options.number("threads", 2, "threads");
    const std::size_t size = options.number("size", 8, "bytes of an object");
    const std::uint64_t writes = options.number("writes", 1000, "passes over an object");
    const std::uint64_t objects = options.work("objects", 100000, "objects, over all threads");
    options.finish();

    Table<void *> given(threads);
    for (std::size_t i = 0; i < threads; ++i)
        given[i] = take(size, i);
    const std::uint64_t each = objects / threads + 1;
    const std::uint64_t done = run_crew(threads, [&, size, writes, each](std::size_t self) {
        drop(given[self], size, self);
        for (std::uint64_t i = 0; i < each; ++i) {
            void *object = take(size, self);
            hammer(object, size, writes);
            stamp(object, size, self);
            drop(object, size, self);
        }
        return each;
    });
    std::printf("passive_false: %" PRIu64 " objects\n", done);
}
