// SPDX-License-Identifier: MIT
//
// First-class heaps: destroying one frees all its blocks, small, large and huge, and no block of another.
// link: so
// env: CAIRN_OPTIONS=purge_delay:never,background:off,huge_pages:off
#include "process_statistics.hpp"

using namespace process_test;

namespace {

void *filled(cairn_heap *heap, std::size_t size) {
    void *const p = cairn_heap_alloc(heap, size);
    CHECK(p != nullptr);
    return std::memset(p, 5, size);
}

void fill(cairn_heap *heap) {
    static void *blocks[100000];
    for (std::size_t i = 0; i < 100000; ++i) {
        blocks[i] = filled(heap, 16 + i % 2000);
    }
    for (std::size_t i = 0; i < 100000; i += 10) { // mostly empty superblocks are freed whole as well
        for (std::size_t j = i; j < i + 9; ++j) {
            cairn_heap_free(heap, blocks[j]);
        }
    }
    for (int i = 0; i < 20; ++i) {
        filled(heap, 1 * MiB);
        filled(heap, 20 * KiB);
    }
    filled(heap, 20 * MiB);
}

} // namespace

int main() {
    cairn_heap *const bystander = cairn_heap_create();
    auto *const kept = static_cast<char *>(filled(bystander, 100));
    auto *const kept_large = static_cast<char *>(filled(bystander, 100 * KiB));
    const cairn_statistics before = statistics();
    std::size_t first_mapped = 0;
    for (int round = 0; round < 20; ++round) {
        cairn_heap *const heap = cairn_heap_create();
        fill(heap);
        const cairn_statistics during = statistics();
        CHECK(during.live > before.live + 45 * MiB && during.small_live > before.small_live + 5 * MiB);
        CHECK(during.large_live == before.large_live + 20 * MiB);
        cairn_heap_destroy(heap);
        const cairn_statistics after = statistics();
        // Only the thread's own bins may differ.
        CHECK(after.small_live <= before.small_live + 64 * KiB && after.large_live == before.large_live);
        CHECK(after.huge_live == before.huge_live && after.superblocks <= before.superblocks + 2);
        first_mapped = round == 0 ? after.mapped : first_mapped;
        CHECK(after.mapped <= first_mapped);
    }
    cairn_purge();
    const std::size_t left = resident();
    cairn_heap *const heap = cairn_heap_create();
    fill(heap);
    CHECK(resident() > left + 45 * MiB);
    cairn_heap_destroy(heap);
    cairn_purge();
    CHECK(resident() < left + 2 * MiB);
    CHECK(kept[0] == 5 && kept[99] == 5 && kept_large[100 * KiB - 1] == 5);
    cairn_heap_destroy(bystander);
}
