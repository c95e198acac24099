// SPDX-License-Identifier: MIT
//
// 1,200 threads at one time, each with blocks; all end, and the next 1,200 need no more memory than they did. Of the
// first ones some may wait so long, on a busy machine, that others take from their heaps what they do not use.
#include "process_test.hpp"

using namespace process_test;

static pthread_barrier_t barrier;

static void *run(void *) {
    void *blocks[20];
    std::size_t size = 16;
    for (void *&p : blocks) {
        p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
        size += 40;
    }
    pthread_barrier_wait(&barrier);
    free_all(blocks);
    return nullptr;
}

int main() {
    constexpr unsigned count = 1200;
    static pthread_t threads[count];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * KiB);
    std::size_t peaks[3] = {};
    for (std::size_t &peak : peaks) {
        pthread_barrier_init(&barrier, nullptr, count);
        for (pthread_t &thread : threads) {
            if (pthread_create(&thread, &attributes, run, nullptr) != 0) {
                _exit(77); // this machine does not allow so many
            }
        }
        for (pthread_t thread : threads) {
            pthread_join(thread, nullptr);
        }
        peak = peak_resident();
    }
    dprintf(1, "peaks of %.1f, %.1f and %.1f MiB\n", mebibytes(peaks[0]), mebibytes(peaks[1]),
            mebibytes(peaks[2]));
    CHECK(peaks[2] < peaks[1] + 16 * MiB);
}
