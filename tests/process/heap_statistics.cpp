// SPDX-License-Identifier: MIT
//
// First-class heaps: the figures count their blocks and superblocks, and no more of them when these are freed.
// link: so
// env: CAIRN_OPTIONS=purge_delay:never,background:off
#include "process_statistics.hpp"

#include <sys/resource.h>

using namespace process_test;

namespace {

constexpr std::size_t size = 1 * KiB;
constexpr std::size_t count = 2048; // of 32 superblocks
constexpr std::size_t superblocks = count * size / (64 * KiB);

struct Row {
    std::size_t superblocks;
    std::size_t live;
};

std::size_t number_after(const char *text, const char *name) {
    const char *const at = std::strstr(text, name);
    CHECK(at != nullptr);
    return std::strtoull(at + std::strlen(name), nullptr, 10);
}

/// Of the size class.
Row row() {
    static char text[32 * KiB];
    CHECK(cairn_statistics_json(text, sizeof text) < sizeof text);
    const char *const at = std::strstr(text, "{\"block_size\":1024,");
    CHECK(at != nullptr);
    return {number_after(at, "\"superblocks\":"), number_after(at, "\"live_blocks\":")};
}

void small_blocks(cairn_heap *heap) {
    static void *blocks[count];
    const cairn_statistics before = statistics();
    const Row row_before = row();
    for (void *&p : blocks) {
        CHECK((p = cairn_heap_alloc(heap, size)) != nullptr);
    }
    const cairn_statistics during = statistics();
    CHECK(during.small_live == before.small_live + count * size);
    CHECK(during.superblocks == before.superblocks + superblocks);
    CHECK(during.small_resident == before.small_resident + count * size);
    CHECK(row().superblocks == row_before.superblocks + superblocks && row().live == row_before.live + count);
    for (void *const p : blocks) {
        cairn_heap_free(heap, p);
    }
    const cairn_statistics after = statistics(); // one superblock is still allocated from
    CHECK(after.small_live == before.small_live);
    CHECK(after.superblocks == before.superblocks + 1);
    CHECK(after.small_resident <= before.small_resident + 64 * KiB);
    CHECK(row().superblocks == row_before.superblocks + 1 && row().live == row_before.live);
    for (void *&p : blocks) { // in memory that was used before
        CHECK((p = cairn_heap_alloc(heap, size)) != nullptr);
    }
    CHECK(statistics().small_resident == before.small_resident + count * size);
    for (void *const p : blocks) {
        cairn_heap_free(heap, p);
    }
}

/// What a heap remembers of a long block goes with it, and where there was no memory for it.
void long_blocks(cairn_heap *heap) {
    cairn_heap_free(heap, cairn_heap_alloc(heap, 1 * MiB));
    const cairn_statistics before = statistics();
    void *const p = cairn_heap_alloc(heap, 1 * MiB);
    CHECK(statistics().large_live == before.large_live + 1 * MiB);
    cairn_heap_free(heap, p);
    rlimit limit{};
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    const rlimit little{1024 * MiB, limit.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &little) == 0);
    CHECK(cairn_heap_alloc(heap, 2048 * MiB) == nullptr);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(statistics().live == before.live);
}

} // namespace

int main() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    small_blocks(heap);
    long_blocks(heap);
    cairn_heap_destroy(heap);
}
