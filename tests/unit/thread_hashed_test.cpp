// SPDX-License-Identifier: MIT
//
// ThreadPrivateHeap and ThreadOwnedHeap: where a block goes that another thread frees.
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/platform/syscall.hpp>
#include <cairn/source/mmap.hpp>
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
template class cairn::ThreadPrivateHeap<Archetype<>>;
template class cairn::ThreadPrivateHeap<Rich>;
template class cairn::ThreadPrivateHeap<SelfSizedArchetype>;
template class cairn::ThreadOwnedHeap<Archetype<>>;
template class cairn::ThreadOwnedHeap<Rich>;

namespace {

using enum Capability;
static_assert(capabilities_of<ThreadPrivateHeap<Archetype<>>> == none);
static_assert(capabilities_of<ThreadPrivateHeap<Rich>> == (clearable | aligned | zeroing));
static_assert(capabilities_of<ThreadPrivateHeap<SelfSizedArchetype>> == sized);
static_assert(capabilities_of<ThreadOwnedHeap<Archetype<>>> == none);
static_assert(capabilities_of<ThreadOwnedHeap<Rich>> == (sized | clearable | aligned | zeroing));

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
