// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md for the layers that hold, split and join blocks, and choose among heaps.
#include "expect.hpp"

#include <cairn/combine/fallback.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/dictionary.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/buffer.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/system_malloc.hpp>

using namespace cairn;

namespace {

void adapt() {
    Compose<MmapHeap, Bump<>, Adapt<DoublyLinked>> heap;
    void *const a = heap.malloc(48);
    void *const b = heap.malloc(48);
    heap.free(a);
    heap.free(b);
    heap.remove(a); // a is ours again, from the middle of the list
    expect(heap.malloc(48) == b, "a is gone, so b is the oldest");
}

void coalesceable() {
    Compose<MmapHeap, Coalesceable<64_KiB>> heap;
    void *const p = heap.malloc(100);
    expect(heap.getSize(p) > 60'000, "all of a region, for a CoalesceHeap to split");
    heap.free(p);
}

void seg() {
    Compose<MmapHeap, Bump<>, SizeHeader, Seg<PowersOfTwo<>>> heap;
    void *const p = heap.malloc(1000);
    heap.free(p);
    expect(heap.malloc(50) == p, "a larger bin's block, where the own bin is empty");
}

void coalesce() {
    using Classes = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
    Compose<MmapHeap, Coalesceable<64_KiB>, Seg<Classes>, Coalesce> heap;
    void *const a = heap.malloc(1000);
    void *const b = heap.malloc(1000);
    heap.free(a);
    heap.free(b);
    expect(heap.malloc(2000) == a, "two neighbours have become one block");
}

void rounded() {
    Compose<MmapHeap, Bump<>, SizeHeader, Rounded<PowersOfTwo<>>> heap;
    expect(heap.getSize(heap.malloc(33)) == 64, "the next power of two");
}

void aligned_header() {
    Compose<MmapHeap, Bump<>, SizeHeader, AlignedHeader> heap;
    void *const p = heap.memalign(4096, 100);
    expect(is_aligned(p, 4096) && heap.getSize(p) >= 100, "memalign for a heap with size headers");
    heap.free(p);
}

void threshold() {
    using Classes = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
    using Quick = MultipleClasses<24, 16, 63>; // what blocks with boundary tags have room for
    Compose<MmapHeap, Coalesceable<64_KiB>, Seg<Classes>, Coalesce, Threshold<Quick, 512>> heap;
    void *const a = heap.malloc(40);
    void *const b = heap.malloc(40);
    heap.free(a);
    heap.free(b);
    expect(heap.malloc(40) == b, "from the quicklist");
    heap.free(b);
    expect(heap.malloc(600) == a, "a large request has joined what the quicklists held");
}

void select_mapped() {
    using Classes = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
    using Mappings = Compose<MmapHeap, Coalesceable<4_KiB, true>>;
    Compose<MmapHeap, Coalesceable<64_KiB>, Seg<Classes>, Coalesce, SelectMapped<128_KiB, Mappings>> heap;
    void *const small = heap.malloc(100);
    void *const large = heap.malloc(200'000);
    expect(BoundaryTag::of(large)->marked() && !BoundaryTag::of(small)->marked(), "told by their tags");
    heap.free(large);
    heap.free(small);
}

void fallback() {
    // All that one request needs, and goes with it: in a buffer on the stack, if that has the room.
    unsigned char buffer[16_KiB];
    Compose<MallocHeap, Bump<16_KiB>, Fallback<BufferHeap>> arena(buffer, sizeof buffer);
    for (int request = 0; request < 3; ++request) {
        void *const first = arena.malloc(16'000);
        void *const second = arena.malloc(16'000);
        expect(first < buffer + 16 && arena.owns(second), "the buffer is full, so from malloc");
        arena.clear();
    }
}

} // namespace

int main() {
    adapt();
    coalesceable();
    seg();
    coalesce();
    rounded();
    aligned_header();
    threshold();
    select_mapped();
    fallback();
}
