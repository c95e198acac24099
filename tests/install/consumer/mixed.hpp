// SPDX-License-Identifier: MIT
//
// For files with assertions and without, with exceptions and RTTI and without, each with heaps of its own: what a heap
// does must not depend on which of two definitions with one name the linker keeps.
#include <allocators/hardened.hpp>
#include <allocators/hoard.hpp>
#include <allocators/ptmalloc_like.hpp>
#include <allocators/wen_deng.hpp>
#include <cairn/adapt/pmr.hpp>
#include <cairn/adapt/std_allocator.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/thread/locked.hpp>

#include <thread>
#include <vector>

namespace {

using Little = cairn::StaticBufferHeap<64>;
using Numbers = std::vector<int, cairn::StdAllocator<int, Little>>;

/// Containers on heaps of this file.
[[maybe_unused]] bool adapts() {
    Little heap;
    Numbers numbers(heap);
    numbers.push_back(1);
    cairn::HeapResource resource(heap);
    std::pmr::vector<int> more(&resource);
    more.push_back(2);
    return numbers.back() + more.back() == 3;
}

struct Owner {
    cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Freelist> list;
    unsigned long mark = 42;
    cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Locked<>> locked;
    cairn::GuardedPagesHeap<> guarded;
    unsigned long another_mark = 42;
};

/// Heaps that take a lock in one function and release it in another, most of all where threads meet.
template <class H>
void let_threads_meet() {
    static constinit H heap;
    cairn::Statistics statistics;
    const auto work = [] {
        for (unsigned i = 0; i < 20'000; ++i) {
            heap.free(heap.malloc(64U << i % 7));
        }
    };
    for (int round = 0; round < 100 && statistics.heaps < 2; ++round) {
        std::thread one(work), other(work);
        one.join();
        other.join();
        heap.statistics(statistics);
    }
    work();
}

[[maybe_unused]] bool keeps_to_itself() {
    Owner owner;
    owner.list.free(owner.list.malloc(64));
    for (int i = 0; i < 3; ++i) {
        owner.locked.malloc(64);
    }
    static constinit cairn::Hardened<> hardened;
    for (int i = 0; i < 100; ++i) {
        owner.guarded.free(owner.guarded.malloc(64));
        hardened.free(hardened.malloc(1000U << i % 9));
    }
    let_threads_meet<cairn::Hoard<>>();
    let_threads_meet<cairn::PtmallocLike<>>();
    let_threads_meet<cairn::WenDeng<>>();
    return owner.mark == 42 && owner.another_mark == 42;
}

} // namespace
