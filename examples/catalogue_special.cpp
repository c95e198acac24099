// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md for heaps that are bounded, shared, made for one class or for a special way
// to free, a function for each row.
#include "expect.hpp"

#include <cairn/adapt/per_class.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>

#include <cstring>
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

void chunk_pool() {
    // A free list that keeps nothing for ever: what is free in one piece goes back to the system.
    Compose<MmapHeap, ChunkPool<512>> heap;
    void *chunks[1000];
    for (void *&p : chunks) {
        p = heap.malloc(512);
    }
    for (void *p : chunks) {
        heap.free(p);
    }
    expect(heap.malloc(513) == nullptr, "chunks of one size");
}

void unique() {
    using Region = Compose<MmapHeap, Bump<>, Unique<>>; // a name for one region
    Compose<Region, Freelist> nodes;
    Compose<Region, Freelist> edges;
    auto *const node = static_cast<char *>(nodes.malloc(32));
    auto *const edge = static_cast<char *>(edges.malloc(48));
    expect(edge == node + 32, "two lists of free blocks, one region below both");
}

void fixed_stack() {
    Compose<MmapHeap, FixedStack<1_MiB>> stack;
    void *const first = stack.malloc(100);
    stack.malloc(200);
    stack.free(first); // and with it all that came after
    expect(stack.remaining() == 1_MiB, "empty again");
}

void growing_objects() {
    // Chunks of the usual size are kept on a list, larger ones come from below.
    using Chunks = Compose<MmapHeap, SizeHeader, Hybrid<4_KiB, Compose<MmapHeap, Freelist, SizeHeader>>>;
    Compose<Chunks, Obstack<4_KiB>> names;
    names.grow("cairn", 5);
    names.grow_byte('\0');
    auto *const name = static_cast<char *>(names.finish());
    void *const scope = names.malloc(100);
    names.grow("given up", 8);
    names.free(scope); // the block, and what grows above it
    expect(std::strcmp(name, "cairn") == 0 && names.malloc(1) == scope, "what is older stays");
}

void xalloc() {
    Compose<MmapHeap, FixedStack<30_MiB>, Xalloc> heap;
    void *const a = heap.malloc(100);
    void *const b = heap.malloc(100);
    heap.free(a); // marked: b is still there
    expect(heap.malloc(100) > b, "after the last block in use");
    heap.reset();
    expect(heap.malloc(100) == a, "all at once");
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
    chunk_pool();
    unique();
    fixed_stack();
    growing_objects();
    xalloc();
    per_class();
    throw_exception();
}
