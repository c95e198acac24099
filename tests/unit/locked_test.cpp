// SPDX-License-Identifier: MIT
//
// LockedHeap: each operation runs with the lock held, once, and the lock is free afterwards.
#include <allocators/hoard.hpp>
#include <allocators/lkmalloc.hpp>
#include <allocators/owned.hpp>
#include <allocators/ptmalloc_like.hpp>
#include <allocators/thresholds.hpp>
#include <allocators/wen_deng.hpp>
#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/fallback.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/debug/trace.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/buffer.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/sync/bounded_spin_lock.hpp>
#include <cairn/thread/locked.hpp>
#include <cairn/thread/thread_owned.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;

// A process may have one before anything is constructed.
constinit LockedHeap<MmapHeap> locked_heap_of_a_process;

namespace {

int held = 0;
int taken = 0;
std::vector<std::string> unlocked_calls;
int calls = 0;

struct WatchedLock {
    void lock() {
        ++held;
        ++taken;
    }
    void unlock() { --held; }
};

/// Can do everything, and writes down who came without the lock.
struct Spy {
    void *malloc(std::size_t) { return see("malloc"); }
    void free(void *) { see("free"); }
    std::size_t getSize(void *) const { return see("getSize") == nullptr ? 0 : 1; }
    void clear() { see("clear"); }
    void *memalign(std::size_t, std::size_t) { return see("memalign"); }
    void *reallocate(void *, std::size_t) { return see("reallocate"); }
    void *malloc_zeroed(std::size_t) { return see("malloc_zeroed"); }
    void *calloc(std::size_t, std::size_t) { return see("calloc"); }
    bool owns(const void *) const { return see("owns") != nullptr; }
    std::size_t remaining() const { return see("remaining") == nullptr ? 0 : 1; }

    static void *see(const char *name) {
        ++calls;
        if (held != 1) {
            unlocked_calls.emplace_back(name);
        }
        return &held;
    }
};
static_assert(capabilities_of<Spy> == Capability::all);

TEST(LockedHeap, HoldsTheLockInEveryOperation) {
    LockedHeap<Spy, WatchedLock> heap;
    static_assert(capabilities_of<decltype(heap)> == Capability::all);
    void *const answer = &held;
    EXPECT_EQ(heap.malloc(1), answer);
    heap.free(answer);
    EXPECT_EQ(heap.getSize(answer), 1u);
    heap.clear();
    EXPECT_EQ(heap.memalign(8, 8), answer);
    EXPECT_EQ(heap.reallocate(answer, 8), answer);
    EXPECT_EQ(heap.malloc_zeroed(1), answer);
    EXPECT_EQ(heap.calloc(1, 1), answer);
    EXPECT_TRUE(heap.owns(answer));
    EXPECT_EQ(heap.remaining(), 1u);
    EXPECT_EQ(unlocked_calls, std::vector<std::string>());
    EXPECT_EQ(calls, 10) << "two operations, and one for each of the eight capabilities";
    EXPECT_EQ(taken, calls);
    EXPECT_EQ(held, 0);
}

TEST(LockedHeap, IsHeldAcrossAForkWhereTheLockCanBe) {
    static_assert(!LockType<sync::Lock>, "of which rank?");
    static_assert(ForkSafeLock<RankedLock<>> && !ForkSafeLock<std::mutex>);
    static_assert(sync::ForkLocks<LockedHeap<Archetype<>>> && !sync::ForkLocks<Archetype<>>);
    LockedHeap<Archetype<>> heap;
    heap.lock_all();
    std::atomic<bool> done = false;
    std::thread other([&] {
        heap.free(nullptr);
        done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(done);
    heap.unlock_all(sync::AfterFork::in_parent);
    other.join();
    EXPECT_TRUE(done);
}

/// The parent waits for a lock in shared memory that the child holds. Where the child's release wakes only its own
/// process, the parent sleeps for ever.
TEST(LockedHeap, IsSharedByProcessesWhereItsThreadsDoNotSleep) {
    using Lock = RankedLock<sync::Rank::composed, sync::BoundedSpinLock<>>;
    using Shared = Compose<BufferHeap, Bump<4_KiB>, Freelist, Locked<Lock>>;
    constexpr std::size_t bytes = 64_KiB;
    void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto *const heap = new (memory) Shared(static_cast<char *>(memory) + 4_KiB, bytes - 4_KiB);
    void *const block = heap->malloc(48);
    int locked[2], had[2];
    ASSERT_TRUE(pipe(locked) == 0 && pipe(had) == 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    char byte = 0;
    if (child == 0) {
        heap->lock_all();
        bool talked = write(locked[1], &byte, 1) == 1;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        heap->unlock_all(sync::AfterFork::in_parent);
        heap->free(block);
        talked = read(had[0], &byte, 1) == 1 && talked; // a child that ends would wake the parent
        _exit(talked ? 0 : 1);
    }
    EXPECT_EQ(read(locked[0], &byte, 1), 1);
    void *const first = heap->malloc(48);
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(write(had[1], &byte, 1), 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(first == block || heap->malloc(48) == block) << "the child has freed it";
    heap->~Shared();
    for (const int end : {locked[0], locked[1], had[0], had[1]}) {
        close(end);
    }
    munmap(memory, bytes);
}

int begun = 0;
int across = 0;

struct Chance : Archetype<> {
    static void begin_in_child() { begun += across; }
};

TEST(LockedHeap, TellsAChildOfForkWithTheLockHeld) {
    class Watched : public RankedLock<> {
    public:
        void hold_across_fork() {
            RankedLock<>::hold_across_fork();
            ++across;
        }
        void let_go_after_fork() {
            --across;
            RankedLock<>::let_go_after_fork();
        }
    };
    begun = 0;
    LockedHeap<Chance, Watched> heap;
    heap.lock_all();
    heap.unlock_all(sync::AfterFork::in_parent);
    EXPECT_EQ(begun, 0);
    heap.lock_all();
    heap.unlock_all(sync::AfterFork::in_child);
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(across, 0);
}

struct NoSink {
    void write(Operation, void *, std::size_t, std::size_t) {}
};
NoSink no_sink;
Usage usage;

/// How often a heap that draws random numbers is told, somewhere in H.
template <class H>
int told_in_a_child() {
    begun = 0;
    across = 1;
    H heap;
    heap.lock_all();
    heap.unlock_all(sync::AfterFork::in_parent);
    EXPECT_EQ(begun, 0);
    heap.lock_all();
    heap.unlock_all(sync::AfterFork::in_child);
    across = 0;
    return begun;
}

TEST(LockedHeap, TellsAChildOfForkThroughLayersThatPassLocksOn) {
    EXPECT_EQ((told_in_a_child<Compose<Chance, SizeHeader, Locked<>>>()), 1);
    EXPECT_EQ((told_in_a_child<Compose<Chance, SizeHeader, AlignedHeader, Locked<>>>()), 1);
    EXPECT_EQ((told_in_a_child<Compose<Chance, SizeTable<>, Ansi, ThrowException, Locked<>>>()), 1);
    EXPECT_EQ((told_in_a_child<Compose<Chance, Rounded<PowersOfTwo<>>, Check<>, Locked<>>>()), 1);
    EXPECT_EQ((told_in_a_child<Compose<Chance, Trace<no_sink>, SizeTable<>, Profile<usage>, Locked<>>>()), 1);
    EXPECT_EQ((told_in_a_child<Compose<Chance, SizeTable<>, Ansi, Locked<>, Trace<no_sink>>>()), 1);
    static_assert(!sync::BeginsInChild<Compose<Archetype<>, SizeTable<>, Ansi>>);
}

TEST(ThreadOwnedHeap, TellsAChildOfForkInEachHeap) {
    EXPECT_EQ((told_in_a_child<Compose<Chance, ThreadOwned<5>>>()), 5);
    EXPECT_EQ((told_in_a_child<Compose<Chance, SizeTable<>, Ansi, ThreadOwned<5>>>()), 5);
    EXPECT_EQ((told_in_a_child<Compose<Chance, Locked<>, ThreadOwned<5>>>()), 5);
}

TEST(LockedHeap, NestsByRank) {
    using Inner = LockedHeap<Spy, RankedLock<sync::Rank::leaf>>;
    LockedHeap<Inner> heap;
    held = 1;
    EXPECT_NE(heap.malloc(1), nullptr);
    held = 0;
}

/// A build with assertions looks at the ranks of their locks.
template <class H>
class LockedFamily : public testing::Test {};
using Family = testing::Types<Hoard<>, WenDeng<>, Lkmalloc<>, PtmallocLike<>, OwnedHeaps<>, ThresholdHeaps<>>;
TYPED_TEST_SUITE(LockedFamily, Family);

TYPED_TEST(LockedFamily, StandsBelowLayersWithALock) {
    static constinit Compose<TypeParam, Fallback<StaticBufferHeap<64>>, Locked<>, SizeTable<>, Locked<>> heap;
    std::vector<void *> blocks;
    for (std::size_t size = 1; size < 300'000; size *= 3) {
        blocks.push_back(heap.malloc(size));
        EXPECT_NE(blocks.back(), nullptr);
    }
    for (void *p : blocks) {
        heap.free(p);
    }
}

} // namespace
