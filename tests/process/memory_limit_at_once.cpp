// SPDX-License-Identifier: MIT
// ulimit-v: 1048576
//
// All address space is in what was freed, and several threads ask at once for long blocks, which there is room for:
// none is refused because another one was giving that address space back.
#include "memory_fill.hpp"

#include <atomic>
#include <sched.h>

using namespace process_test;

namespace {

constexpr unsigned threads = 4;

class Barrier {
public:
    void wait() {
        const unsigned round = arrived_.fetch_add(1) / threads;
        while (arrived_ / threads == round) {
            sched_yield();
        }
    }

private:
    std::atomic<unsigned> arrived_{0};
};

} // namespace

int main() {
    static Barrier barrier;
    static std::atomic<unsigned> refused{0};
    in_threads(threads, [](unsigned i) {
        for (int round = 0; round < 20; ++round) {
            barrier.wait();
            if (i == 0) {
                fill_and_free(30000);
            }
            barrier.wait();
            void *const block = malloc(100 * MiB);
            refused += block == nullptr;
            barrier.wait();
            free(block);
        }
    });
    dprintf(1, "%u of %u refused\n", refused.load(), threads * 20);
    CHECK(refused == 0);
}
