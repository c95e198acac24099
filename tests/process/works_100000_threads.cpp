// SPDX-License-Identifier: MIT
//
// 100,000 threads, eight at a time, each of which allocates blocks of many sizes, frees what the one before it left and
// leaves a block behind. What is resident at the end, and the mappings, do not grow with their number. A debug build,
// where one takes longer, makes a fifth of them.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr unsigned at_a_time = 8;
#ifdef NDEBUG
    constexpr unsigned rounds = 100000 / at_a_time;
#else
    constexpr unsigned rounds = 20000 / at_a_time;
#endif
    static void *left[at_a_time];
    std::size_t early = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        in_threads(at_a_time, [](unsigned i) {
            void *blocks[12];
            for (unsigned k = 0; k < 12; ++k) {
                blocks[k] = malloc(std::size_t{16} << k);
                CHECK(blocks[k] != nullptr);
                *static_cast<char *>(blocks[k]) = 1;
            }
            free(left[i]);
            left[i] = blocks[i];
            for (unsigned k = 0; k < 12; ++k) {
                if (k != i) {
                    free(blocks[k]);
                }
            }
        });
        if (round == 100) {
            early = resident();
        }
    }
    const std::size_t late = resident();
    const std::size_t maps = mappings();
    dprintf(1, "after %u threads %.1f MiB, after all %.1f MiB, %zu mappings\n", 101 * at_a_time,
            mebibytes(early), mebibytes(late), maps);
    CHECK(late < 32 * MiB && late < early + 4 * MiB);
    CHECK(maps < 100);
}
