// SPDX-License-Identifier: MIT
// passive-false (Hoard, section 5.3): one thread allocates small objects and gives one to each thread, which frees it
// at once and goes on as in active-false. The time grows if the allocator lets each thread use again the piece of the
// line that the program gave it. The figures are NBmalloc's (section 6), as in active-false.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/hammer.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "active-false, after each thread freed an object of a shared line (Hoard, section 5.3; "
                    "NBmalloc, section 6)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t size = options.number("size", 1, "bytes of an object");
    const std::uint64_t writes = options.number("writes", 1000, "passes over an object");
    const std::uint64_t objects = options.work("objects", 1000000, "objects, over all threads");
    options.finish();

    Table<void *> given(threads);
    for (std::size_t i = 0; i < threads; ++i)
        given[i] = take(size, i);
    const std::uint64_t each = objects / threads;
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
