// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md for heaps that are bounded, shared, made for one class or for a special way
// to free, a function for each row.
#include "expect.hpp"

#include <cairn/adapt/per_class.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>

#include <new>

using namespace cairn;

namespace {

void bounded_freelist() {
    Compose<MmapHeap, BoundedFreelist<1>> heap;
    void *const a = heap.malloc(4_KiB);
    void *const b = heap.malloc(4_KiB);
    heap.free(a); // kept
    heap.free(b); // unmapped
    expect(!heap.owns(b) && heap.malloc(4_KiB) == a, "one block at most is kept");
    heap.free(a);
}

void unique() {
    using Region = Compose<MmapHeap, Bump<>, Unique<>>; // a name for one region
    Compose<Region, Freelist> nodes;
    Compose<Region, Freelist> edges;
    auto *const node = static_cast<char *>(nodes.malloc(32));
    auto *const edge = static_cast<char *>(edges.malloc(48));
    expect(edge == node + 32, "two lists of free blocks, one region below both");
}

class Point {
public:
    explicit Point(int to_the_right = 0) : x(to_the_right) {}
    virtual ~Point() = default;
    int x;
};

class PooledPoint : public PerClassHeap<Point, Compose<MmapHeap, Bump<>, Freelist>> {
    using PerClassHeap::PerClassHeap;
};

void per_class() {
    Point *const a = new PooledPoint(1);
    delete a;
    Point *const b = new PooledPoint(2);
    expect(b == a && b->x == 2, "the class's own list of free objects");
    delete b;
}

void throw_exception() {
    Compose<StaticBufferHeap<1_KiB>, ThrowException> heap;
    bool thrown = false;
    try {
        heap.malloc(2_KiB);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    expect(thrown, "never nullptr");
}

} // namespace

int main() {
    bounded_freelist();
    unique();
    per_class();
    throw_exception();
}
