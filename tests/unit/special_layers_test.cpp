// SPDX-License-Identifier: MIT
//
// BoundedFreelistHeap, ChunkPoolHeap, UniqueHeap, ThrowExceptionHeap: what they need, what they offer, and what is
// special about each.
#include "counting_heap.hpp"

#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>
#include <cairn/thread/thread_owned.hpp>
#include <cairn/thread/thread_private.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <type_traits>
#include <vector>

using namespace cairn;

namespace {
using Rich = Archetype<Capability::all>;
} // namespace

template class cairn::BoundedFreelistHeap<Archetype<>, 1>;
template class cairn::BoundedFreelistHeap<Rich, 10>;
template class cairn::ChunkPoolHeap<Archetype<Capability::aligned>, 4_KiB>;
template class cairn::ChunkPoolHeap<Rich, 48, 4_KiB>;
template class cairn::UniqueHeap<Archetype<>>;
template class cairn::UniqueHeap<Rich>;
template class cairn::UniqueHeap<SelfSizedArchetype>;
template class cairn::ThrowExceptionHeap<Archetype<>>;
template class cairn::ThrowExceptionHeap<Rich>;

namespace {

using enum Capability;
static_assert(capabilities_of<BoundedFreelistHeap<Rich, 10>> == (sized | owning | clearable));
static_assert(capabilities_of<BoundedFreelistHeap<Archetype<>, 10>> == none);

static_assert(capabilities_of<ChunkPoolHeap<Archetype<aligned>, 4_KiB>> == (sized | owning | clearable));
static_assert(ChunkPoolHeap<Rich, 4_KiB>::alignment == 64 && ChunkPoolHeap<Rich, 48>::alignment == 16);
static_assert(!std::copy_constructible<ChunkPoolHeap<MmapHeap, 4_KiB>>);
constinit ChunkPoolHeap<MmapHeap, 4_KiB> static_chunks;

// Each capability alone is passed, and none is invented.
template <unsigned... Bit>
constexpr bool passed(std::integer_sequence<unsigned, Bit...>) {
    return ((capabilities_of<ThrowExceptionHeap<Archetype<Capability{1u << Bit}>>> == Capability{1u << Bit} &&
             capabilities_of<UniqueHeap<Archetype<Capability{1u << Bit}>>> ==
                 (includes(clearable | owning, Capability{1u << Bit}) ? none : Capability{1u << Bit})) &&
            ...);
}
static_assert(passed(std::make_integer_sequence<unsigned, 8>()));
static_assert(capabilities_of<ThrowExceptionHeap<Rich>> == all);
static_assert(capabilities_of<ThrowExceptionHeap<Archetype<>>> == none);
static_assert(SameSizeRecord<ThrowExceptionHeap<SelfSizedArchetype>, SelfSizedArchetype>);
static_assert(!SelfSizedHeap<ThrowExceptionHeap<Rich>>);
static_assert(!ClearableHeap<UniqueHeap<Rich>>, "one of several users must not take the blocks of all");
static_assert(capabilities_of<UniqueHeap<Archetype<>>> == none);
static_assert(!TellableApart<FreelistHeap<UniqueHeap<BumpHeap<MmapHeap>>>, UniqueHeap<BumpHeap<MmapHeap>>>,
              "a block of either name is owned by both");

// Blocks that tell their size do so through a shared heap too.
static_assert(SelfSizedHeap<UniqueHeap<SizeHeaderHeap<MmapHeap>>> && !SelfSizedHeap<UniqueHeap<Rich>>);
static_assert(SameSizeRecord<UniqueHeap<SizeHeaderHeap<MmapHeap>>, SizeHeaderHeap<MallocHeap>>);
static_assert(std::is_empty_v<UniqueHeap<BumpHeap<MmapHeap>>>);

static_assert(!std::is_convertible_v<ThrowExceptionHeap<Rich> *, Rich *>);
static_assert(!std::is_convertible_v<BoundedFreelistHeap<Rich, 10> *, Rich *>);
static_assert(!std::copy_constructible<BoundedFreelistHeap<MmapHeap, 10>>);

static_assert(std::same_as<Compose<Rich, BoundedFreelist<10>, Unique<int>, ThrowException>,
                           ThrowExceptionHeap<UniqueHeap<BoundedFreelistHeap<Rich, 10>, int>>>);

using Counting = CountingHeap<MallocHeap>;

TEST(BoundedFreelist, PassesOnWhatIsMoreThanItsBound) {
    {
        Compose<Counting, BoundedFreelist<3>> heap;
        void *blocks[5];
        for (int round = 0; round < 2; ++round) {
            for (void *&block : blocks) {
                block = heap.malloc(48);
            }
            EXPECT_EQ(Counting::live, 5);
            for (void *block : blocks) {
                heap.free(block);
            }
            EXPECT_EQ(Counting::live, 3) << "three are kept, two went back";
        }
        EXPECT_EQ(heap.malloc(48), blocks[2]) << "the last one that was kept";
        EXPECT_EQ(heap.malloc(48), blocks[1]);
        heap.free(blocks[2]);
        heap.free(blocks[1]);
    }
    EXPECT_EQ(Counting::live, 0);
}

TEST(BoundedFreelist, IsEmptyWhenItIsCleared) {
    Compose<MmapHeap, Bump<>, BoundedFreelist<2>> heap;
    heap.free(heap.malloc(48));
    heap.clear();
    void *const a = heap.malloc(96); // another size: all blocks are gone
    void *const b = heap.malloc(96);
    EXPECT_NE(a, b);
    heap.free(a);
    heap.free(b);
    EXPECT_EQ(heap.malloc(96), b);
    EXPECT_EQ(heap.malloc(96), a);
}

/// Counts slabs.
class Slabs {
public:
    void *malloc(std::size_t size) { return memalign(16, size); }
    void *memalign(std::size_t wanted, std::size_t size) {
        ++live;
        return below_.memalign(wanted, size);
    }
    void free(void *p) {
        --live;
        below_.free(p);
    }
    static inline int live = 0;

private:
    MmapHeap below_;
};

TEST(ChunkPool, SlabsGoBackWhenAllTheirChunksAreFree) {
    {
        Compose<Slabs, ChunkPool<4_KiB>> heap;
        constexpr std::size_t per_slab = decltype(heap)::chunks_per_slab;
        static_assert(per_slab == 15);
        std::vector<void *> chunks;
        for (std::size_t i = 0; i < 10 * per_slab; ++i) {
            chunks.push_back(heap.malloc(4_KiB));
        }
        EXPECT_EQ(Slabs::live, 10);
        heap.free(chunks[20]);
        EXPECT_EQ(heap.malloc(4_KiB), chunks[20]) << "the only slab with room, wherever it stands";
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            if (i % per_slab != 3) {
                heap.free(chunks[i]);
            }
        }
        EXPECT_EQ(Slabs::live, 10) << "a chunk of each is in use";
        for (std::size_t i = 3; i < 5 * per_slab; i += per_slab) {
            heap.free(chunks[i]);
        }
        EXPECT_EQ(Slabs::live, 5);
        for (std::size_t i = 5 * per_slab + 3; i < chunks.size(); i += per_slab) {
            heap.free(chunks[i]);
        }
        EXPECT_EQ(Slabs::live, 1) << "one is kept";
        void *const again = heap.malloc(1);
        EXPECT_EQ(Slabs::live, 1);
        EXPECT_TRUE(heap.owns(again));
        EXPECT_EQ(heap.getSize(again), 4_KiB);
        EXPECT_EQ(heap.malloc(4_KiB + 1), nullptr) << "a chunk is all there is";
    }
    EXPECT_EQ(Slabs::live, 0);
    void *const p = static_chunks.malloc(10);
    EXPECT_TRUE(static_chunks.owns(p));
    static_chunks.free(p);
}

TEST(Unique, IsOneHeapForAllItsNames) {
    using Region = Compose<MmapHeap, Bump<>, Unique<class TestOne>>;
    using Other = Compose<MmapHeap, Bump<>, Unique<class TestOther>>;
    Compose<Region, Freelist> nodes;
    Compose<Region, Freelist> edges;
    auto *const node = static_cast<char *>(nodes.malloc(16));
    auto *const edge = static_cast<char *>(edges.malloc(48));
    EXPECT_EQ(edge, node + 16) << "side by side in one region";
    EXPECT_TRUE(Region::shared_heap_owns(node));
    EXPECT_FALSE(Other::shared_heap_owns(node)) << "another tag, another heap";
}

TEST(Unique, OutlivesItsNames) {
    using Region = Compose<MmapHeap, Bump<>, Unique<class TestTwo>>;
    char *kept = nullptr;
    {
        Region name;
        kept = static_cast<char *>(name.malloc(48));
        *kept = 'k';
    }
    EXPECT_TRUE(Region::shared_heap_owns(kept));
    EXPECT_EQ(*kept, 'k');
}

// Used by constructors and destructors of static objects: the heap is there before and after.
struct Early {
    Early() : block(Heap::malloc(48)) {}
    ~Early() {
        if (!Heap::shared_heap_owns(block)) {
            std::abort();
        }
    }
    using Heap = Compose<MmapHeap, Bump<>, Unique<Early>>;
    void *block;
};
Early early;

TEST(Unique, IsThereBeforeTheFirstConstructor) {
    EXPECT_TRUE(Early::Heap::shared_heap_owns(early.block));
}

/// The locks of heaps that share it do not keep others out of it; its own do, by whatever names they are taken.
TEST(Unique, CanBeHeldAcrossAForkIfItLocks) {
    using Pages = Compose<MmapHeap, Bump<>, Locked<>, Unique<class TestFork>>;
    using Other = Compose<Pages, Freelist>;
    static_assert(sync::ForkLocks<Pages> && !sync::ForkLocks<Other>);
    static_assert(!sync::ForkLocks<Compose<MmapHeap, Bump<>, Unique<class TestFork>>>, "nothing to hold");
    Pages one;
    Pages another;
    one.lock_all();
    another.lock_all(); // as two heaps over it would
    std::atomic<bool> served{false};
    std::jthread thread([&] {
        Other heap;
        heap.free(heap.malloc(48));
        served = true;
    });
    another.unlock_all(sync::AfterFork::in_parent);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(served);
    const pid_t child = fork();
    one.unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
    if (child == 0) {
        _exit(Pages::malloc(48) != nullptr ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    thread.join();
    EXPECT_TRUE(served);
}

TEST(Unique, IsSharedByThreadsIfItLocks) {
    using Pages = Compose<MmapHeap, Bump<>, Locked<>, Unique<class TestThree>>;
    const auto work = [] {
        Compose<Pages, Freelist> nodes;
        for (int i = 0; i < 1000; ++i) {
            auto *const p = static_cast<int *>(nodes.malloc(48));
            *p = i;
            if (i % 3 == 0) {
                nodes.free(p);
            }
        }
    };
    std::thread one(work);
    std::thread other(work);
    one.join();
    other.join();
}

TEST(Unique, ThatLocksLiesBelowHeapsThatLock) {
    using Pages = Compose<MmapHeap, Bump<>, Locked<>, Unique<class TestFour>>;
    Compose<Pages, Freelist, Locked<>> nodes;
    Compose<Pages, Freelist, ThreadPrivate<8>> edges;
    Compose<Pages, Freelist, ThreadOwned<8>> faces;
    void *const node = nodes.malloc(16);
    void *const edge = edges.malloc(48);
    void *const face = faces.malloc(64);
    EXPECT_TRUE(Pages::shared_heap_owns(node) && Pages::shared_heap_owns(edge) &&
                Pages::shared_heap_owns(face));
    nodes.free(node);
    edges.free(edge);
    faces.free(face);
}

TEST(ThrowException, IsBadAllocForEveryOperation) {
    ThrowExceptionHeap<Rich> heap;
    EXPECT_THROW(static_cast<void>(heap.malloc(1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(heap.memalign(64, 1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(heap.reallocate(nullptr, 1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(heap.malloc_zeroed(1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(heap.calloc(1, 1)), std::bad_alloc);
    EXPECT_EQ(heap.malloc(0), nullptr) << "nothing was asked for";
    EXPECT_EQ(heap.calloc(0, 8), nullptr);
    EXPECT_EQ(heap.calloc(8, 0), nullptr);
}

TEST(ThrowException, LeavesTheHeapUsable) {
    Compose<StaticBufferHeap<64>, ThrowException> heap;
    EXPECT_NE(heap.malloc(48), nullptr);
    EXPECT_THROW(static_cast<void>(heap.malloc(48)), std::bad_alloc);
    EXPECT_NE(heap.malloc(16), nullptr) << "a smaller request";
}

} // namespace
