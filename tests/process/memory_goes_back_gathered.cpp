// SPDX-License-Identifier: MIT
//
// Threads that have freed two blocks of each of many superblocks, and sleep: what they gathered keeps no superblock.
#include "process_test.hpp"

#include <semaphore.h>

using namespace process_test;

namespace {

constexpr unsigned threads = 63;
constexpr std::size_t sizes[] = {16,  32,  48,  64,  80,  96,  112, 128, 144, 160, 176, 192,
                                 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512};
constexpr unsigned classes = sizeof sizes / sizeof sizes[0];
constexpr std::size_t each = 64 * KiB;
constexpr std::size_t most = each / 16;
void *blocks[threads][classes][most];
sem_t freed, over;

} // namespace

int main() {
    std::memset(blocks, 1, sizeof blocks); // resident from the start
    std::memset(blocks, 0, sizeof blocks);
    for (auto &of_thread : blocks) {
        for (unsigned c = 0; c < classes; ++c) {
            for (std::size_t i = 0; i < each / sizes[c]; ++i) {
                void *const p = of_thread[c][i] = malloc(sizes[c]);
                CHECK(p != nullptr);
                std::memset(p, 1, sizes[c]);
            }
        }
    }
    static const std::size_t peak = resident();
    sem_init(&freed, 0, 0);
    sem_init(&over, 0, 0);
    in_threads(threads + 1, [](unsigned i) {
        if (i < threads) {
            for (auto &of_class : blocks[i]) {
                free(of_class[0]);
                free(of_class[1]);
                of_class[0] = of_class[1] = nullptr;
            }
            sem_post(&freed);
            sem_wait(&over);
            return;
        }
        for (unsigned t = 0; t < threads; ++t) {
            sem_wait(&freed);
        }
        for (auto &of_thread : blocks) {
            for (auto &of_class : of_thread) {
                free_all(of_class);
            }
        }
        const std::size_t allowed = sizeof blocks + 32 * MiB;
        const std::size_t after = bytes_after_a_second(resident, allowed);
        dprintf(1, "peak %.1f MiB, a second after the end %.1f MiB, the table %.1f MiB\n", mebibytes(peak),
                mebibytes(after), mebibytes(sizeof blocks));
        CHECK(peak > sizeof blocks + threads * classes * each && after <= allowed);
        for (unsigned t = 0; t < threads; ++t) {
            sem_post(&over);
        }
    });
}
