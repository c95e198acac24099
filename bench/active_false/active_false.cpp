// SPDX-License-Identifier: MIT
// active-false (Hoard, section 5.3): each thread allocates one small object, writes on it a number of times, and frees
// it. Allocations are rare, so the time is that of the writes: it grows if the allocator gives threads parts of one
// line. The figures are NBmalloc's (section 6), Hoard gives none: a million objects of a byte, each read and written
// 1,000 times.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/hammer.hpp"
#include "../common/options.hpp"

#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(
        argc, argv,
        "each thread writes much on small objects of its own (Hoard, section 5.3; NBmalloc, section 6)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t size = options.number("size", 1, "bytes of an object");
    const std::uint64_t writes = options.number("writes", 1000, "passes over an object");
    const std::uint64_t objects = options.work("objects", 1000000, "objects, over all threads");
    options.finish();

    const std::uint64_t each = objects / threads;
    const std::uint64_t done = run_crew(threads, [=](std::size_t self) {
        for (std::uint64_t i = 0; i < each; ++i) {
            void *object = take(size, self);
            hammer(object, size, writes);
            stamp(object, size, self);
            drop(object, size, self);
        }
        return each;
    });
    std::printf("active_false: %" PRIu64 " objects\n", done);
}
