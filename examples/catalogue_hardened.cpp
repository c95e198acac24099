// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md that make memory faults show, a function for each row.
#include "expect.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/random_places.hpp>
#include <cairn/sizeclass/geometric.hpp>

using namespace cairn;

namespace {

/// Counts, where the default policy would stop the program.
struct CountFaults {
    static inline int count = 0;
    static constexpr bool leaks = false;
    static void found(const Finding &) { ++count; }
};

void guarded_pages() {
    GuardedPagesHeap<> heap;
    auto *const p = static_cast<char *>(heap.malloc(5000));
    expect(is_aligned(p + align_up(5000, 16), 4096), "behind it lies a page that may not be touched");
    heap.free(p); // whoever reads or writes it now is stopped by a fault
}

void random_places() {
    Compose<GuardedPagesHeap<>, RandomPlaces<GeometricSizeClasses<4_KiB, 512>, CountFaults>> heap;
    auto *const p = static_cast<char *>(heap.malloc(100));
    p[100] = 1;
    heap.free(p); // 1: written behind the end
    heap.free(p); // 2: freed again
    expect(CountFaults::count == 2, "each fault is found");
    expect(heap.malloc(100) != p, "it is not handed out again soon");
}

} // namespace

int main() {
    guarded_pages();
    random_places();
}
