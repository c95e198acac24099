// SPDX-License-Identifier: MIT
//
// What a thread's bins have free is given up when long blocks take memory that the process never had, large or huge
// ones.
// link: so
// env: CAIRN_OPTIONS=purge_delay:never,background:off
#include "process_statistics.hpp"

using namespace process_test;

namespace {

std::size_t in_superblocks() {
    return statistics().small_resident;
}

void leave_bins_full() {
    constexpr std::size_t count = 5; // so few that the heap does not look at its bins before
    static void *blocks[count];
    for (std::size_t size = 36 * KiB; size <= 64 * KiB; size += 4 * KiB) {
        for (void *&block : blocks) {
            block = malloc(size);
            std::memset(block, 1, size);
        }
        free_all(blocks);
    }
}

void grow_by(std::size_t size) {
    leave_bins_full();
    const std::size_t before = in_superblocks();
    void *const some = malloc(100 * KiB);
    free(some);
    for (int i = 0; i < 10; ++i) {
        void *const block = malloc(size);
        CHECK(block != nullptr);
        std::memset(block, 1, size);
    }
    const std::size_t after = in_superblocks();
    dprintf(1, "%zu KiB in superblocks, then %zu\n", before / KiB, after / KiB);
    CHECK(before > MiB && after < before / 3);
}

} // namespace

int main() {
    for (const std::size_t size : {4 * MiB, 20 * MiB}) {
        in_child([&] { grow_by(size); }); // a process that has nothing yet
    }
}
