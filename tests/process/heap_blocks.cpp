// SPDX-License-Identifier: MIT
//
// First-class heaps: sizes, alignment, contents, reuse, and errno.
// link: so
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <cerrno>

using namespace process_test;

namespace {

struct Block {
    unsigned char *memory;
    std::size_t size;
};
Block blocks[3000];

void fill(const Block &b) {
    const auto mark = static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(b.memory) >> 4);
    std::memset(b.memory, mark, b.size);
}

void check(const Block &b) {
    const auto mark = static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(b.memory) >> 4);
    for (std::size_t i = 0; i < b.size; i += b.size > 64 * KiB ? 4096 : 1) {
        CHECK(b.memory[i] == mark);
    }
}

std::size_t random_size(Random &random) {
    switch (random.below(40)) {
    case 0:
        return random.below(300 * KiB);
    case 1:
        return random.below(64 * KiB);
    default:
        return random.below(2000);
    }
}

void random_work(cairn_heap *heap) {
    Random random(1);
    for (int i = 0; i < 100000; ++i) {
        Block &b = blocks[random.below(3000)];
        if (b.memory != nullptr) {
            check(b);
            cairn_heap_free(heap, b.memory);
            b.memory = nullptr;
            continue;
        }
        b.size = random_size(random);
        const std::size_t alignment = random.below(10) == 0 ? std::size_t{1} << random.below(18) : 1;
        b.memory = static_cast<unsigned char *>(cairn_heap_aligned_alloc(heap, alignment, b.size));
        CHECK(b.memory != nullptr);
        const auto address = reinterpret_cast<std::uintptr_t>(b.memory);
        CHECK(address % alignment == 0 && address % (b.size <= 8 ? 8 : 16) == 0);
        fill(b);
    }
    for (Block &b : blocks) {
        if (b.memory != nullptr) {
            check(b);
        }
    }
}

void borders(cairn_heap *heap) {
    void *const empty = cairn_heap_alloc(heap, 0);
    void *const other = cairn_heap_alloc(heap, 0);
    CHECK(empty != nullptr && other != nullptr && empty != other);
    cairn_heap_free(heap, empty);
    cairn_heap_free(heap, nullptr);
    for (const std::size_t size : {64 * KiB, 64 * KiB + 1, 16 * MiB, 16 * MiB + 1, 40 * MiB}) {
        auto *const p = static_cast<char *>(cairn_heap_alloc(heap, size));
        CHECK(p != nullptr);
        p[0] = p[size - 1] = 1;
        cairn_heap_free(heap, p);
    }
    void *const aligned = cairn_heap_aligned_alloc(heap, 64 * MiB, 10);
    CHECK(aligned != nullptr && reinterpret_cast<std::uintptr_t>(aligned) % (64 * MiB) == 0);
    cairn_heap_free(heap, aligned);
}

/// What is freed in a superblock that was full is given again before memory that nothing has used.
void full_superblocks(cairn_heap *heap) {
    constexpr std::size_t size = 1 * KiB;
    constexpr unsigned of_a_superblock = 64 * KiB / size;
    void *full[4 * of_a_superblock];
    for (void *&p : full) {
        CHECK((p = cairn_heap_alloc(heap, size)) != nullptr);
    }
    cairn_heap_free(heap, full[7]);
    cairn_heap_free(heap, full[of_a_superblock + 7]);
    unsigned again = 0;
    void *more[of_a_superblock + 2];
    for (void *&p : more) {
        CHECK((p = cairn_heap_alloc(heap, size)) != nullptr);
        again += p == full[7] || p == full[of_a_superblock + 7];
    }
    CHECK(again == 2);
    full[7] = full[of_a_superblock + 7] = nullptr;
    for (void *const p : full) {
        cairn_heap_free(heap, p);
    }
    for (void *const p : more) {
        cairn_heap_free(heap, p);
    }
}

void errors(cairn_heap *heap) {
    errno = 0;
    CHECK(cairn_heap_alloc(heap, opaque(SIZE_MAX)) == nullptr && errno == ENOMEM);
    errno = 0;
    CHECK(cairn_heap_aligned_alloc(heap, 3, 8) == nullptr && errno == EINVAL);
    errno = 0;
    CHECK(cairn_heap_aligned_alloc(heap, 0, 8) == nullptr && errno == EINVAL);
    void *const p = cairn_heap_alloc(heap, 1 * MiB);
    errno = 77;
    cairn_heap_free(heap, p);
    CHECK(errno == 77);
}

} // namespace

int main() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    full_superblocks(heap);
    borders(heap);
    errors(heap);
    random_work(heap);
    errno = 78;
    cairn_heap_destroy(heap);
    cairn_heap_destroy(nullptr);
    CHECK(errno == 78);
}
