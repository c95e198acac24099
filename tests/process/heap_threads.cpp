// SPDX-License-Identifier: MIT
//
// First-class heaps: several threads use several heaps at one time and free each other's blocks, while others
// use malloc, and one asks for statistics.
// link: so
#include "process_statistics.hpp"

#include <atomic>

using namespace process_test;

namespace {

constexpr unsigned heaps = 3;
constexpr unsigned places = 500;
cairn_heap *heap[heaps];
std::atomic<std::size_t *> slots[heaps][places];

/// The first word of a block says how long it is, the last one where it is.
std::size_t *made(cairn_heap *h, std::size_t words) {
    auto *const p = static_cast<std::size_t *>(cairn_heap_alloc(h, words * sizeof(std::size_t)));
    CHECK(p != nullptr);
    p[words - 1] = reinterpret_cast<std::size_t>(p);
    p[0] = words;
    return p;
}

void checked_free(cairn_heap *h, std::size_t *p) {
    CHECK(p[p[0] - 1] == reinterpret_cast<std::size_t>(p));
    cairn_heap_free(h, p);
}

void work(unsigned thread) {
    Random random(thread + 1);
    for (int i = 0; i < 100000; ++i) {
        const std::size_t which = random.below(heaps);
        const std::size_t words = 2 + (random.below(200) == 0 ? random.below(20000) : random.below(60));
        std::size_t *const old = slots[which][random.below(places)].exchange(made(heap[which], words));
        if (old != nullptr) {
            checked_free(heap[which], old);
        }
        if (i % 16 == 0) {
            std::free(std::malloc(random.below(4000)));
        }
        if (thread == 0 && i % 5000 == 0) {
            CHECK(cairn_statistics_json(nullptr, 0) > 0);
            cairn_heap_destroy(cairn_heap_create());
        }
    }
}

} // namespace

int main() {
    for (cairn_heap *&h : heap) {
        h = cairn_heap_create();
    }
    in_threads(4, work);
    for (unsigned h = 0; h < heaps; ++h) {
        for (auto &slot : slots[h]) {
            if (std::size_t *const p = slot.load()) {
                CHECK(p[p[0] - 1] == reinterpret_cast<std::size_t>(p));
            }
        }
        cairn_heap_destroy(heap[h]);
    }
    CHECK(statistics().live < 1 * MiB);
}
