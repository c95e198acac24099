// SPDX-License-Identifier: MIT
//
// The kernel has no memory for a membarrier in the middle of a visit to the heap of a thread that sleeps: the heap is
// visited again.
#include "faults_injector.hpp"

using namespace process_test;

namespace {

constexpr std::size_t size = 1024;
constexpr unsigned count = 200 * MiB / size;
constexpr unsigned kept = count / 100 * 86; // what is free of the heap is less than a sixth
void *blocks[count];
std::atomic<int> stage{0};

void *works_and_sleeps(void *) {
    for (void *&p : blocks) {
        p = std::malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
    }
    stage = 1;
    while (stage == 1) {
        usleep(1000);
    }
    for (unsigned i = kept; i < count; ++i) {
        std::free(blocks[i]);
    }
    stage = 3;
    for (;;) {
        pause();
    }
}

} // namespace

int main() {
    alarm(hang_limit);
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, works_and_sleeps, nullptr) == 0);
    while (stage != 1) {
        usleep(1000);
    }
    sleep_seconds(1); // the heaps of both threads are visited
    // The next call lets the visiting thread in; those of its two rounds fail.
    faults::inject({SYS_membarrier, ENOMEM, 2, 6});
    stage = 2;
    while (stage != 3) {
        usleep(1000);
    }
    const std::size_t allowed = kept * size + 12 * MiB;
    const std::size_t before = resident();
    const std::size_t after = bytes_after_a_second(resident, allowed);
    dprintf(1, "%.1f MiB, a second later %.1f MiB, after %u fences\n", mebibytes(before), mebibytes(after),
            faults::seen.load());
    CHECK(before > allowed && after <= allowed);
    CHECK(faults::seen == 0 || faults::seen > 7); // none where heaps are fenced
}
