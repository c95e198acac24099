// SPDX-License-Identifier: MIT
//
// A process that is large enough for the purger, which comes with its next step of growth, does not give back in each
// turn what it touches again in the next one.
// link: so
// env: CAIRN_OPTIONS=purge_delay:1000s
#include "linked_blocks.hpp"
#include "process_statistics.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

/// A block of each size class of up to 4 KiB: superblocks of which hardly a page is touched. So the steps of growth, in
/// touched memory, are apart from those of the memory that counts for the purger.
void use_many_superblocks() {
    for (std::size_t size = 1; size <= 4 * KiB;) {
        void *const block = opaque(malloc(size));
        CHECK(block != nullptr);
        size = malloc_usable_size(block) + 1;
    }
}

/// Until superblocks of so many bytes are there.
Node *allocate_until(std::size_t bytes) {
    Node *list = nullptr;
    while (statistics().superblocks * 64 * KiB < bytes) {
        list = allocate_list(32 * KiB, KiB, list);
    }
    return list;
}

} // namespace

int main() {
    alarm(hang_limit);
    constexpr std::size_t enough = 24 * MiB + 256 * KiB;
    use_many_superblocks();
    for (unsigned turn = 0; turn < 20; ++turn) {
        free_list(allocate_until(enough));
    }
    const cairn_statistics s = statistics();
    dprintf(1, "%.1f MiB given back in %llu calls\n", mebibytes(s.purged),
            static_cast<unsigned long long>(s.purges));
    CHECK(s.purged <= 8 * MiB);
}
