// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md, a function for each row.
#include "expect.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/pmr.hpp>
#include <cairn/adapt/std_allocator.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/buffer.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>

#include <thread>
#include <vector>

using namespace cairn;

namespace {

void mmap_heap() {
    MmapHeap heap;
    void *const p = heap.malloc(100'000);
    expect(is_aligned(p, 4_KiB) && heap.getSize(p) >= 100'000, "whole pages");
    heap.free(p);
    expect(!heap.owns(p), "unmapped");
}

void sbrk_heap() {
    SbrkHeap heap;
    auto *const a = static_cast<char *>(heap.malloc(100));
    auto *const b = static_cast<char *>(heap.malloc(100));
    expect(a == nullptr || b == a + 112, "block behind block, where sbrk works");
}

void static_buffer_heap() {
    StaticBufferHeap<1_KiB> heap;
    expect(heap.malloc(1000) != nullptr && heap.malloc(1000) == nullptr, "the buffer is all there is");
    heap.clear();
    expect(heap.remaining() == 1_KiB, "as new");
}

void buffer_heap() {
    std::vector<unsigned char> memory(1000);
    Compose<BufferHeap, Bump<256>, SizeHeader, Locked<>> heap(memory.data(), memory.size());
    void *const p = heap.malloc(100);
    expect(p > memory.data() && p < memory.data() + memory.size(), "it lies in the vector");
    while (heap.malloc(100) != nullptr) {
    }
    heap.clear();
    expect(heap.malloc(100) == p, "as new");
}

void malloc_heap() {
    MallocHeap heap;
    void *const p = heap.memalign(64, 100);
    expect(is_aligned(p, 64) && MallocHeap::getSize(p) >= 100, "the program's own malloc");
    heap.free(p);
}

void freelist() {
    Compose<MallocHeap, Freelist> heap;
    void *const p = heap.malloc(48);
    heap.free(p);
    expect(heap.malloc(48) == p, "the last freed block comes first");
    heap.free(p);
}

void bump() {
    Compose<MallocHeap, Bump<16_KiB>> region;
    auto *const a = static_cast<char *>(region.malloc(48));
    auto *const b = static_cast<char *>(region.malloc(48));
    expect(b == a + 48, "no header, no gap");
    region.clear(); // and both are gone
}

void size_header() {
    Compose<MmapHeap, Bump<>, SizeHeader> heap;
    void *const p = heap.malloc(33);
    expect(heap.getSize(p) == 33, "the block tells what was asked for");
}

void hybrid() {
    using Small = StaticBufferHeap<4_KiB>;
    Compose<MmapHeap, Hybrid<256, Small>> heap;
    void *const small = heap.malloc(256);
    void *const large = heap.malloc(257);
    expect(is_aligned(large, 4_KiB) && heap.owns(small), "large ones on pages of their own");
    heap.free(large);
    heap.free(small);
}

void segregated() {
    using Classes = GeometricSizeClasses<1_KiB, 512>;
    using Bin = Compose<MmapHeap, Bump<>, Freelist, SizeHeader>;
    Compose<MmapHeap, SizeHeader, Segregated<Classes, Bin>> heap;
    void *const p = heap.malloc(100);
    heap.free(p);
    expect(heap.malloc(112) == p, "of the same class");
    expect(heap.malloc(113) != p, "of another");
}

void locked() {
    Compose<MmapHeap, Bump<>, Freelist, Locked<>> heap; // Locked<std::mutex> for a lock of your own
    std::thread other([&heap] { heap.free(heap.malloc(48)); });
    heap.free(heap.malloc(48));
    other.join();
}

void ansi() {
    Compose<MmapHeap, SizeHeader, Ansi> heap;
    heap.free(nullptr);
    expect(heap.calloc(SIZE_MAX, 2) == nullptr, "an overflow is noticed");
    void *p = heap.reallocate(nullptr, 10);
    p = heap.reallocate(p, 10'000);
    heap.free(p);
}

void std_allocator() {
    using Region = Compose<MmapHeap, Bump<>>;
    Region region;
    std::vector<int, StdAllocator<int, Region>> numbers({1, 2, 3}, region);
    expect(region.owns(numbers.data()), "the vector's memory is the region's");
}

void heap_resource() {
    Compose<MmapHeap, Bump<>> region;
    HeapResource resource(region);
    std::pmr::vector<int> numbers({1, 2, 3}, &resource);
    expect(region.owns(numbers.data()), "the vector's memory is the region's");
}

} // namespace

int main() {
    mmap_heap();
    sbrk_heap();
    static_buffer_heap();
    buffer_heap();
    malloc_heap();
    freelist();
    bump();
    size_header();
    hybrid();
    segregated();
    locked();
    ansi();
    std_allocator();
    heap_resource();
}
