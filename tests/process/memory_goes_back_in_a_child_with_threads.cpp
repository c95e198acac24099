// SPDX-License-Identifier: MIT
//
// In the child of a fork, whose memory does not grow and which so has no helper thread, one thread frees what another
// has allocated, and both sleep: a second later no more than 32 MiB are resident.
#include "linked_blocks.hpp"

using namespace process_test;

namespace {

constexpr std::size_t total = 200 * MiB;
Node *list;
pthread_barrier_t barrier;

void allocate(std::size_t size) {
    list = allocate_list(total, size, list);
}

void free_all() {
    free_list(list);
    list = nullptr;
}

void sleeps() {
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB a second after another thread has freed all\n", mebibytes(after));
    CHECK(after <= 32 * MiB);
}

std::size_t block_size;

void *allocates(void *) {
    allocate(block_size);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return nullptr;
}

void *frees(void *) {
    free_all();
    sleeps();
    return nullptr;
}

/// The first thread frees what a new one has allocated, or the other way round.
void free_of_another(std::size_t size, bool first_frees) {
    alarm(hang_limit);
    pthread_t other;
    if (first_frees) {
        block_size = size;
        CHECK(pthread_barrier_init(&barrier, nullptr, 2) == 0);
        CHECK(pthread_create(&other, nullptr, allocates, nullptr) == 0);
        pthread_barrier_wait(&barrier);
        free_all();
        sleeps();
        pthread_barrier_wait(&barrier);
    } else {
        allocate(size);
        CHECK(pthread_create(&other, nullptr, frees, nullptr) == 0);
    }
    CHECK(pthread_join(other, nullptr) == 0);
}

} // namespace

int main() {
    alarm(hang_limit);
    for (const std::size_t size : {std::size_t{100}, std::size_t{5000}, 100 * KiB}) {
        for (const bool first_frees : {true, false}) {
            allocate(size); // the child's memory grows no further
            free_all();
            in_child([&] { free_of_another(size, first_frees); });
        }
    }
}
