// SPDX-License-Identifier: MIT
//
// With overcommit mode 2 the kernel charges each private writable mapping in full, touched or not. That charge
// stays near what the program holds: at most 1.25 times its blocks and 64 MiB. Of huge blocks it goes back with
// them; of smaller ones the address space is kept for reuse.
#include "process_test.hpp"

#include <atomic>
#include <sched.h>

using namespace process_test;

namespace {

/// Bytes of private writable mappings, without the stack.
std::size_t charge() {
    return proc_bytes("/proc/self/status", "VmData:");
}

void expect_at_most(const char *when, std::size_t live) {
    const std::size_t now = charge();
    dprintf(1, "%s: %.1f MiB live, %.1f MiB charged\n", when, mebibytes(live), mebibytes(now));
    CHECK(now <= live + live / 4 + 64 * MiB);
}

std::atomic<unsigned> started{0};

/// For good. Their stacks count too, and libc keeps some of them.
void one_block_in_each_of(unsigned threads) {
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 * KiB) == 0);
    static pthread_t all[64];
    for (unsigned i = 0; i < threads; ++i) {
        const auto work = [](void *count) -> void * {
            for (++started; started != *static_cast<unsigned *>(count);) {
                sched_yield(); // so that each has a heap of its own
            }
            CHECK(malloc(1) != nullptr);
            return nullptr;
        };
        CHECK(pthread_create(&all[i], &small, work, &threads) == 0);
    }
    for (unsigned i = 0; i < threads; ++i) {
        CHECK(pthread_join(all[i], nullptr) == 0);
    }
}

} // namespace

int main() {
    void *const first = malloc(1);
    CHECK(first != nullptr);
    expect_at_most("one block", 1);
    one_block_in_each_of(16);
    expect_at_most("one block of each of 16 threads", 17);

    constexpr std::size_t size = 100;
    constexpr unsigned count = 2 * MiB;
    static void *blocks[count];
    for (void *&p : blocks) {
        p = malloc(size);
        CHECK(p != nullptr);
    }
    const std::size_t small = charge();
    expect_at_most("small blocks", sizeof blocks + size * count);

    static void *huge[8];
    for (void *&p : huge) {
        p = malloc(40 * MiB);
        CHECK(p != nullptr);
    }
    expect_at_most("huge blocks", sizeof blocks + size * count + 320 * MiB);
    free_all(huge);
    free_all(blocks);
    const std::size_t after = bytes_after_a_second(charge, small + 16 * MiB);
    dprintf(1, "all freed: %.1f MiB charged\n", mebibytes(after));
    CHECK(after <= small + 16 * MiB);
}
