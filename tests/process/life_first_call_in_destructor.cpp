// SPDX-License-Identifier: MIT
//
// A thread whose first malloc comes from a destructor while it ends: in whatever round that is, the block is
// good, and 5,000 such threads do not use up heaps or memory.
#include "process_test.hpp"

using namespace process_test;

static pthread_key_t key;

static void destroy(void *value) {
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

int main() {
    CHECK(pthread_key_create(&key, destroy) == 0);
    std::size_t early = 0;
    for (int n = 0; n < 5000; ++n) {
        in_thread([] { pthread_setspecific(key, reinterpret_cast<void *>(std::uintptr_t{1})); });
        early = n == 100 ? resident() : early;
    }
    const std::size_t late = resident();
    dprintf(1, "after 100 threads %.1f MiB, after 5000 %.1f MiB\n", mebibytes(early), mebibytes(late));
    CHECK(late < early + 8 * MiB);
}
