// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md that watch heaps, and those of heaps chosen by thread, a function for each row.
#include "expect.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/debug/trace.hpp>
#include <cairn/debug/trace_file.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>
#include <cairn/thread/thread_owned.hpp>
#include <cairn/thread/thread_private.hpp>

#include <thread>

using namespace cairn;

namespace {

void thread_private() {
    Compose<MmapHeap, Bump<>, Freelist, ThreadPrivate<8>> heap; // eight regions, eight lists
    void *const p = heap.malloc(48);
    std::thread([&] { heap.free(p); }).join(); // to the list of that thread
    void *const q = heap.malloc(48);           // most likely another block
    heap.free(q);
    expect(heap.malloc(48) == q, "what this thread freed");
}

void thread_owned() {
    Compose<MmapHeap, Bump<>, Freelist, ThreadOwned<8>> heap;
    void *const p = heap.malloc(48);
    std::thread([&] { heap.free(p); }).join();
    expect(heap.malloc(48) == p, "it came back to the heap of this thread");
}

/// Counts, where the default policy would stop the program.
struct CountFaults {
    static inline int count = 0;
    static constexpr bool leaks = true;
    static void found(const Finding &) { ++count; }
};

void check() {
    {
        Compose<MmapHeap, Bump<>, Freelist, Check<CountFaults>> heap;
        auto *const p = static_cast<char *>(heap.malloc(48));
        p[48] = 1;
        heap.free(p); // 1: written behind the end
        heap.free(p); // 2: freed again
        p[7] = 1;
        heap.malloc(48);
    } // 3: written into a freed block; 4: a block is not freed
    expect(CountFaults::count == 4, "each fault is found");
}

constinit Usage taken;
constinit Usage used;

void profile() {
    // The same layer at the source and on top.
    Compose<MmapHeap, Profile<taken>, Bump<64_KiB>, Freelist, SizeHeader, Profile<used>> heap;
    for (int i = 0; i < 100; ++i) {
        heap.malloc(1000);
    }
    expect(taken.bytes.peak() == 128_KiB && used.bytes.peak() == 100'000, "two chunks for 100 blocks");
    expect(fragmentation(taken, used) > 1.3, "max A / max U");
    write_fragmentation(taken, used);
}

void size_table() {
    Compose<MmapHeap, Bump<>, SizeTable<>> heap;
    auto *const a = static_cast<char *>(heap.malloc(32));
    auto *const b = static_cast<char *>(heap.malloc(33));
    expect(b == a + 32, "no header");
    expect(heap.getSize(b) == 33, "and yet the size is known");
}

constinit TraceFile<> operations(1); // standard output

void trace() {
    Compose<MmapHeap, Bump<>, Freelist, Locked<>, Trace<operations>> heap;
    heap.free(heap.malloc(48));
    operations.flush(); // two lines: number, thread, operation, block, size, alignment
    expect(operations.lost() == 0, "both are written");
}

} // namespace

int main() {
    thread_private();
    thread_owned();
    check();
    profile();
    size_table();
    trace();
}
