// SPDX-License-Identifier: MIT
//
// ThreadPrivateHeap and ThreadOwnedHeap: where a block goes that another thread frees.
#include <allocators/kingsley.hpp>
#include <allocators/lea.hpp>

#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/fallback.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/debug/trace.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/platform/syscall.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/thread_owned.hpp>
#include <cairn/thread/thread_private.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;

using Rich = Archetype<Capability::all>;
template <class H>
struct Taking : H {
    static constexpr bool takes_others = true;
};
template class cairn::ThreadPrivateHeap<Taking<Archetype<>>>;
template class cairn::ThreadPrivateHeap<Taking<Rich>>;
template class cairn::ThreadPrivateHeap<Taking<SelfSizedArchetype>>;
template class cairn::ThreadOwnedHeap<Archetype<>>;
template class cairn::ThreadOwnedHeap<Rich>;

namespace {

using enum Capability;
static_assert(capabilities_of<ThreadPrivateHeap<Taking<Archetype<>>>> == none);
static_assert(capabilities_of<ThreadPrivateHeap<Taking<Rich>>> == (clearable | aligned | zeroing));
static_assert(capabilities_of<ThreadPrivateHeap<Taking<SelfSizedArchetype>>> == sized);
static_assert(capabilities_of<ThreadOwnedHeap<Archetype<>>> == none);
static_assert(capabilities_of<ThreadOwnedHeap<Rich>> == (sized | clearable | aligned | zeroing));

// Who takes blocks of another heap of its type. Not who joins them, gives regions back, or looks for them in a table of
// its own.
using Regions = Compose<MmapHeap, Bump<>>;
using Classes = PowersOfTwo<>;
using Quick = MultipleClasses<24, 16, 63>;
constinit Usage usage;
struct Sink {
    void write(Operation, void *, std::size_t, std::size_t) {}
};
constinit Sink sink;
using Tags = Compose<Regions, Coalesceable<>>;
static_assert(TakesOthers<MallocHeap> && TakesOthers<SbrkHeap> && TakesOthers<StaticBufferHeap<64>> &&
              TakesOthers<Regions>);
static_assert(TakesOthers<Compose<MmapHeap, Unique<class TestTakes>>> && !TakesOthers<MmapHeap>);
static_assert(TakesOthers<Compose<MmapHeap, Freelist>> && TakesOthers<Compose<MmapHeap, Adapt<>>>);
static_assert(TakesOthers<Compose<Regions, BoundedFreelist<3>>> &&
              !TakesOthers<Compose<MmapHeap, BoundedFreelist<3>>>);
static_assert(TakesOthers<
              Compose<Regions, SizeHeader, AlignedHeader, Ansi, Rounded<Classes>, ThrowException, Locked<>>>);
static_assert(!TakesOthers<Compose<MmapHeap, SizeHeader>> &&
              !TakesOthers<Compose<MmapHeap, SizeHeader, AlignedHeader>>);
static_assert(!TakesOthers<Compose<MmapHeap, Ansi>> && !TakesOthers<Compose<MmapHeap, Rounded<Classes>>>);
static_assert(!TakesOthers<Compose<MmapHeap, ThrowException>> && !TakesOthers<Compose<MmapHeap, Locked<>>>);
static_assert(!TakesOthers<Tags> && TakesOthers<Compose<SbrkHeap, Coalesceable<>>>);
static_assert(TakesOthers<Compose<SbrkHeap, Coalesceable<>, Seg<Classes>>> &&
              TakesOthers<Compose<Tags, Seg<Classes>>>);
static_assert(!TakesOthers<Compose<SbrkHeap, Coalesceable<>, Seg<Classes>, Coalesce>> && !TakesOthers<Lea<>>);
static_assert(!TakesOthers<Kingsley<>> && !TakesOthers<Compose<Tags, Threshold<Quick, 512>>>);
static_assert(TakesOthers<Compose<Regions, SizeHeader, Threshold<Quick, 512>>>);
static_assert(!TakesOthers<Compose<Regions, Check<>>> && !TakesOthers<Compose<Regions, SizeTable<>>>);
static_assert(TakesOthers<Compose<Regions, SizeHeader, Profile<usage>, Trace<sink>>>);
static_assert(!TakesOthers<Compose<Tags, Profile<usage>>> && !TakesOthers<Compose<Tags, Trace<sink>>>);
static_assert(TakesOthers<HybridHeap<64, MallocHeap, MallocHeap>> &&
              !TakesOthers<HybridHeap<64, Regions, MallocHeap>>);
static_assert(!TakesOthers<Compose<Regions, Fallback<Regions>>> &&
              !TakesOthers<Compose<Regions, ThreadOwned<>>>);
static_assert(TakesOthers<Compose<Regions, ThreadPrivate<>>>);

constexpr std::size_t count = 64;
using Lists = Compose<MallocHeap, Freelist>;

/// Runs f in a thread that has another heap than the caller.
void in_another_heap(const std::function<void()> &f) {
    using Heaps = HashedHeaps<Lists, count, RankedLock<>>;
    const std::function<void(std::size_t)> try_in_thread = [&](std::size_t not_in) {
        std::jthread([&] {
            if (Heaps::mine() == not_in) {
                try_in_thread(not_in);
            } else {
                f();
            }
        });
    };
    try_in_thread(Heaps::mine());
}

TEST(ThreadPrivateHeap, ABlockStaysWithWhoFreesIt) {
    Compose<Lists, ThreadPrivate<count>> heap;
    void *const p = heap.malloc(48);
    in_another_heap([&] {
        void *const q = heap.malloc(48);
        EXPECT_NE(q, p);
        heap.free(p);
        EXPECT_EQ(heap.malloc(48), p);
        heap.free(p);
        heap.free(q);
    });
    void *const r = heap.malloc(48);
    EXPECT_NE(r, p) << "the other's list has it";
    heap.free(r);
    EXPECT_EQ(heap.malloc(48), r) << "each thread's own comes back to it";
    heap.free(r);
}

TEST(ThreadOwnedHeap, ABlockGoesBackWhereItCameFrom) {
    Compose<Lists, ThreadOwned<count>> heap;
    void *const p = heap.malloc(48);
    in_another_heap([&] {
        heap.free(p);
        void *const q = heap.malloc(48);
        EXPECT_NE(q, p) << "the other's list has it";
        heap.free(q);
    });
    EXPECT_EQ(heap.malloc(48), p);
    heap.free(p);
}

TEST(ThreadOwnedHeap, KnowsSizesAndAlignments) {
    Compose<MmapHeap, ThreadOwned<2>> heap;
    for (std::size_t wanted = 1; wanted <= 64_KiB; wanted *= 2) {
        void *const p = heap.memalign(wanted, 100);
        EXPECT_TRUE(is_aligned(p, wanted) && is_aligned(p, 16));
        EXPECT_GE(heap.getSize(p), 100u);
        heap.free(p);
    }
    Compose<MallocHeap, SizeHeader, ThreadOwned<2>> exact;
    void *const p = exact.malloc(33);
    EXPECT_EQ(exact.getSize(p), 33u);
    exact.free(p);
    EXPECT_EQ(heap.malloc(SIZE_MAX), nullptr);
}

std::string order;
/// A lock that notes when it is held across a fork.
template <char Name>
struct NotingLock {
    static void lock() {}
    static void unlock() {}
    static void hold_across_fork() { order += Name; }
    static void let_go_after_fork() { order += '-'; }
};

/// A thread that has the lock of its own heap waits for that of the one that all share.
TEST(ThreadHeaps, TheLockOfASharedHeapIsTheLastThatWhoForksTakes) {
    Compose<MmapHeap, Locked<NotingLock<'s'>>, Unique<class TestForkOrder>, SizeHeader,
            ThreadPrivate<3, NotingLock<'o'>>>
        heap;
    heap.lock_all();
    EXPECT_EQ(order, "ooos");
    heap.unlock_all(sync::AfterFork::in_parent);
    EXPECT_EQ(order, "ooos----");
}

template <class H>
void fork_while_another_thread_is_in(H &heap) {
    for (int i = 0; i < 20; ++i) {
        std::jthread busy([&] {
            for (int turn = 0; turn < 200; ++turn) {
                heap.free(heap.malloc(48));
            }
        });
        heap.lock_all();
        const pid_t child = fork();
        heap.unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
        if (child == 0) {
            heap.free(heap.malloc(48));
            // Not _exit, in which ThreadSanitizer misses the thread that the child does not have.
            platform::raw_syscall(SYS_exit_group, 0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_EQ(status, 0);
    }
}

TEST(ThreadHeaps, TheChildOfAForkCanUseThem) {
    using Pages = Compose<MmapHeap, Freelist>; // whose list needs no malloc, which the child may not call
    static constinit Compose<Pages, ThreadPrivate<count>> one;
    static constinit Compose<Pages, ThreadOwned<count>> other;
    fork_while_another_thread_is_in(one);
    fork_while_another_thread_is_in(other);
}

} // namespace
