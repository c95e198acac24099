// SPDX-License-Identifier: MIT
//
// First-class heaps: what their superblocks touch is counted when they touch it, also in the child of a fork.
// link: a
#include "process_test.hpp"

#include "../../src/malloc/process_heap.hpp"

#include <cairn/cairn.h>

using namespace process_test;

namespace {

cairn::RunHeap &runs() {
    return cairn::process_heap::heap.levels().global().maker().runs();
}

/// What is touched from now on is more than ever was.
void pay() {
    runs().pay(cairn::PurgingRuns::beside_superblocks);
    CHECK(runs().touch(0) == 0);
}

} // namespace

int main() {
    constexpr std::size_t superblock = 64 * KiB;
    constexpr std::size_t block = 1 * KiB;
    std::free(opaque(std::malloc(1)));
    runs().set_floor(0); // so that little counts too
    cairn_heap *const h = cairn_heap_create();
    pay();
    CHECK(cairn_heap_alloc(h, block) != nullptr);
    const std::size_t first = runs().touch(0);
    CHECK(first >= block && first <= superblock / 2);
    for (std::size_t i = 1; i < superblock / block; ++i) {
        CHECK(cairn_heap_alloc(h, block) != nullptr);
    }
    CHECK(runs().touch(0) == superblock);

    // Superblocks of which little is touched; a thread, so that the child makes everything anew.
    CHECK(cairn_heap_alloc(h, block) != nullptr);
    CHECK(runs().touch(0) == first); // what was touched before was paid with the new run
    for (std::size_t size = 2 * block; size <= 8 * block; size += 256) {
        CHECK(cairn_heap_alloc(h, size) != nullptr);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, [](void *) -> void * { return nullptr; }, nullptr) == 0);
    CHECK(pthread_join(thread, nullptr) == 0);
    pay();
    in_child([&] {
        runs().set_floor(0);
        CHECK(runs().touch(0) < 2 * superblock); // what malloc's own heap had still to tell
        pay();
        for (std::size_t i = 1; i < superblock / block; ++i) {
            CHECK(cairn_heap_alloc(h, block) != nullptr);
        }
        CHECK(runs().touch(0) == superblock - first);
    });
    cairn_heap_destroy(h);
}
