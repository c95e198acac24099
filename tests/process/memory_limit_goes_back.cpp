// SPDX-License-Identifier: MIT
// ulimit-v: 524288
//
// Where address space is limited, what freed blocks had of it is there for one long block, for what the program maps by
// itself once memory was given back, and for small blocks again; however often they take turns.
#include "memory_fill.hpp"

#include <malloc.h>
#include <sys/mman.h>

using namespace process_test;

namespace {

constexpr std::size_t big = 300 * MiB;

bool can_map() {
    void *const p = mmap(nullptr, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, big) == 0;
}

} // namespace

int main() {
    const std::size_t sizes[] = {1000, 30000, 120000, 1000000};
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t size : sizes) {
            const std::size_t filled = fill_and_free(size);
            dprintf(1, "round %d, blocks of %zu: %zu MiB\n", round, size, filled / MiB);
            CHECK(filled > 400 * MiB);
            void *const block = malloc(big);
            CHECK(block != nullptr);
            free(block);
            fill_and_free(size);
            malloc_trim(0);
            CHECK(can_map());
        }
    }
}
