// SPDX-License-Identifier: MIT
//
// Threads that free each other's blocks visit each other's heaps now and then, not at each notice of what they have
// freed, in a process that has touched too little for a purger: its superblocks would be long enough for one.
#include "faults_injector.hpp"

#include <iterator>

using namespace process_test;

namespace {

constexpr unsigned crew = 12;
constexpr unsigned turns = 40'000;
std::atomic<void *> shared[1024];
pthread_barrier_t barrier;

/// Each turn allocates some blocks of many sizes, and exchanges one for another thread's.
void work(unsigned number) {
    Random random(number);
    void *held[40];
    pthread_barrier_wait(&barrier);
    for (unsigned turn = 0; turn < turns; ++turn) {
        for (void *&p : held) {
            p = std::malloc(random.below(8) == 0 ? 512 + random.below(7'488) : 16 + random.below(496));
            CHECK(p != nullptr);
            *static_cast<char *>(p) = 1;
        }
        void *&one = held[random.below(std::size(held))];
        one = shared[random.below(std::size(shared))].exchange(one);
        free_all(held);
    }
}

} // namespace

int main() {
    alarm(hang_limit);
    CHECK(pthread_barrier_init(&barrier, nullptr, crew) == 0);
    faults::inject({SYS_membarrier, 0, 1, 0}); // counts them
    in_threads(crew, work);
    dprintf(1, "%u fences in %u turns\n", faults::seen.load(), crew * turns);
    CHECK(faults::seen <= crew * turns / 100);
}
