// SPDX-License-Identifier: MIT
//
// One thread allocates, another frees, a million blocks of mixed sizes: what is resident stays bounded, as
// what others free comes back to the owner while it is awake.
#include "process_test.hpp"

#include <atomic>

using namespace process_test;

int main() {
    constexpr unsigned room = 1024;
    constexpr unsigned rounds = 1000000;
    static std::atomic<void *> queue[room];
    const std::size_t before = resident();
    in_threads(2, [](unsigned i) {
        Random random(1);
        for (unsigned n = 0; n < rounds; ++n) {
            std::atomic<void *> &place = queue[n % room];
            if (i == 0) {
                while (place.load(std::memory_order_acquire) != nullptr) {
                    sched_yield();
                }
                const std::size_t size = 16 + random.below(1000);
                void *const p = malloc(size);
                CHECK(p != nullptr);
                std::memset(p, 1, size);
                place.store(p, std::memory_order_release);
            } else {
                void *p = nullptr;
                while ((p = place.exchange(nullptr, std::memory_order_acquire)) == nullptr) {
                    sched_yield();
                }
                free(p);
            }
        }
    });
    const std::size_t grown = peak_resident() - before;
    dprintf(1, "peak above start: %.1f MiB, live at most %.1f MiB\n", mebibytes(grown),
            mebibytes(room * 1016));
    CHECK(grown < 12 * MiB);
}
