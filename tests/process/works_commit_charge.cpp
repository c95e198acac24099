// SPDX-License-Identifier: MIT
//
// With overcommit mode 2 the kernel charges each private writable mapping in full, touched or not. That charge
// stays near what the program holds: at most 1.25 times its blocks and 64 MiB. Of huge blocks it goes back with
// them; of smaller ones the address space is kept for reuse.
#include "process_test.hpp"

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

} // namespace

int main() {
    void *const first = malloc(1);
    CHECK(first != nullptr);
    expect_at_most("one block", 1);
    in_threads(16, [](unsigned) { CHECK(malloc(1) != nullptr); }); // for good
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
    for (void *const p : huge) {
        free(p);
    }
    for (void *const p : blocks) {
        free(p);
    }
    const std::size_t after = bytes_after_a_second(charge, small + 16 * MiB);
    dprintf(1, "all freed: %.1f MiB charged\n", mebibytes(after));
    CHECK(after <= small + 16 * MiB);
}
