// SPDX-License-Identifier: MIT
// Round-robin producers (Hoard, section 6.1): thread i allocates K blocks and thread i + 1 frees them, one thread after
// the other. The program needs K blocks at any time; private heaps with ownership keep K for each thread.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <barrier>
#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "one thread allocates, the next frees, and so on around (Hoard, section 6.1)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t megabytes = options.number("megabytes", 64, "what one thread allocates");
    const std::size_t size = options.some("size", 256, "bytes of a block");
    const std::uint64_t rounds = options.work("rounds", 20, "times around");
    options.finish();

    const std::size_t blocks = (megabytes << 20) / size + 1;
    Table<void *> held(blocks);
    std::barrier turn(static_cast<std::ptrdiff_t>(threads));
    run_crew(threads, [&](std::size_t self) {
        for (std::uint64_t step = 0; step < rounds * threads; ++step) {
            if (step % threads == self)
                for (std::size_t i = 0; i < blocks; ++i)
                    held[i] = take(size, step + i);
            turn.arrive_and_wait();
            if ((step + 1) % threads == self)
                for (std::size_t i = 0; i < blocks; ++i)
                    drop(held[i], size, step + i);
            turn.arrive_and_wait();
        }
        return 0;
    });
    std::printf("round_robin: %" PRIu64 " blocks\n", rounds * threads * blocks);
}
