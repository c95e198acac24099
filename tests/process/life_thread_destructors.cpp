// SPDX-License-Identifier: MIT
//
// malloc and free in the destructors that run while a thread ends, in every round of them: before and after
// the heap's own, by pthread keys and by thread_local objects. Nothing is lost: memory does not grow.
#include "process_test.hpp"

using namespace process_test;

static pthread_key_t keys[20];

/// Runs in each of the four rounds that POSIX gives: sets itself anew.
static void destroy(void *block) {
    free(block);
    void *const p = malloc(3000);
    CHECK(p != nullptr);
    std::memset(p, 1, 3000);
    free(malloc(MiB));
    static thread_local int rounds;
    if (++rounds < 60) {
        pthread_setspecific(keys[rounds % 20], p);
    } else {
        free(p);
    }
}

struct Local {
    void *block = malloc(500);
    ~Local() {
        free(block);
        free(malloc(700));
    }
};

int main() {
    for (pthread_key_t &key : keys) {
        CHECK(pthread_key_create(&key, destroy) == 0);
    }
    std::size_t early = 0;
    for (int n = 0; n < 1000; ++n) {
        in_thread([] {
            static thread_local Local local;
            opaque(&local);
            for (pthread_key_t key : keys) {
                pthread_setspecific(key, malloc(100));
            }
        });
        early = n == 100 ? resident() : early;
    }
    dprintf(1, "after 100 threads %.1f MiB, after 1000 %.1f MiB\n", mebibytes(early), mebibytes(resident()));
    // What is set in the last round is never destroyed: at most a block of 3000 bytes a key and thread.
    CHECK(resident() < early + 60 * MiB);
}
