// SPDX-License-Identifier: MIT
//
// Where the system has no means to visit a heap any more (membarrier, taken away while the program runs), a heap whose
// thread comes by is made one that needs none: another thread goes on in its partly filled superblocks.
#include "works_filter.hpp"

using namespace process_test;

namespace {

constexpr std::size_t size = 256;
constexpr std::size_t count = 32 * MiB / size;
void *blocks[count];

void take(std::size_t i) {
    blocks[i] = malloc(size);
    CHECK(blocks[i] != nullptr);
    std::memset(blocks[i], 1, size);
}

} // namespace

int main() {
    Filter filter;
    filter.deny(SYS_membarrier, EPERM).install();
    const std::size_t before = resident();
    for (std::size_t i = 0; i < count; ++i) {
        take(i);
    }
    // Three quarters of each superblock, a little at a time, while another thread takes as much.
    for (std::size_t step = 0; step < 3; ++step) {
        for (std::size_t i = step; i < count; i += 4) {
            free(blocks[i]);
        }
        in_threads(1, [step](unsigned) {
            for (std::size_t i = step; i < count; i += 4) {
                take(i);
            }
        });
    }
    const std::size_t grown = peak_resident() - before;
    dprintf(1, "peak above start %.1f MiB, live at most %.1f MiB\n", mebibytes(grown),
            mebibytes(count * size));
    CHECK(grown < count * size * 3 / 2 + 4 * MiB);
}
