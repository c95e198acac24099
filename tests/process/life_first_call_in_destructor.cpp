// SPDX-License-Identifier: MIT
//
// A thread whose first malloc comes from a destructor while it ends: in whatever round that is, and whether its key is
// older or younger than the malloc's own (then nothing of the malloc's has a turn after it), the block is good, and
// 3,000 such threads of each kind do not use up heaps or memory. Nor do the malloc's other threads lose theirs: one
// sleeps all the while.
#include "process_test.hpp"

#include <semaphore.h>

using namespace process_test;

static void destroy_and_set(void *value, pthread_key_t key) {
    const auto round = reinterpret_cast<std::uintptr_t>(value);
    if (round < 4) { // the last of the rounds
        pthread_setspecific(key, reinterpret_cast<void *>(round + 1));
        return;
    }
    void *const p = malloc(100);
    CHECK(p != nullptr);
    std::memset(p, 1, 100);
    free(p);
}

static pthread_key_t older;
static pthread_key_t younger;

static void threads(pthread_key_t key, const char *what) {
    const unsigned many = getenv("MANY_THREADS") != nullptr ? 100000 : 3000;
    std::size_t early = 0;
    for (unsigned n = 0; n < many; ++n) {
        in_thread([key] { pthread_setspecific(key, reinterpret_cast<void *>(std::uintptr_t{1})); });
        early = n == 100 ? resident() : early;
    }
    const std::size_t late = resident();
    dprintf(1, "%s: after 100 threads %.1f MiB, after %u %.1f MiB\n", what, mebibytes(early), many,
            mebibytes(late));
    CHECK(late < early + 2 * MiB);
}

static sem_t sleeps;
static sem_t wakes;

static void *sleeper(void *) {
    char *blocks[500];
    for (int i = 0; i < 500; ++i) {
        blocks[i] = static_cast<char *>(malloc(100));
        std::memset(blocks[i], i, 100);
    }
    sem_post(&sleeps);
    sem_wait(&wakes);
    for (int i = 0; i < 500; ++i) {
        CHECK(blocks[i][0] == static_cast<char>(i) && blocks[i][99] == static_cast<char>(i));
        free(blocks[i]);
        free(malloc(100));
    }
    return nullptr;
}

int main() {
    CHECK(pthread_key_create(&older, [](void *value) { destroy_and_set(value, older); }) == 0);
    free(opaque(malloc(1)));
    CHECK(pthread_key_create(&younger, [](void *value) { destroy_and_set(value, younger); }) == 0);
    CHECK(sem_init(&sleeps, 0, 0) == 0 && sem_init(&wakes, 0, 0) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, sleeper, nullptr) == 0);
    sem_wait(&sleeps);
    threads(older, "an older key");
    threads(younger, "a younger key");
    sem_post(&wakes);
    CHECK(pthread_join(thread, nullptr) == 0);
}
