// SPDX-License-Identifier: MIT
//
// LockedHeap: one lock around a whole heap.
//
// Adds:    use by any thread; lock_all and unlock_all around a fork, where the lock can be held across one. Otherwise
//          it has exactly the capabilities of the heap below.
// Needs:   a heap; a lock with lock and unlock that is made without an argument.
// Keeps:   every operation runs with the lock held. The heap is a private member, and each operation is listed here:
//          one that is not listed can not be called, so none bypasses the lock. So getSize is not static, and the heap
//          is no SelfSizedHeap, whatever the heap below is.
// Threads: any of one process: who waits for the default lock sleeps where only its own process wakes it. A heap in
//          memory that processes share, at the same address in each, needs a lock whose threads do not sleep, such as
//          RankedLock<sync::Rank::composed, sync::BoundedSpinLock<>>.
// Errors:  those of the heap below.
// Cost:    the lock: one atomic read-modify-write to take it and one to release it, and a place where threads wait.
// Source:  Heap Layers, Table 1: LockedHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/sync/across_fork.hpp>
#include <cairn/sync/lock.hpp>

#include <concepts>
#include <utility>

namespace cairn {

template <class L>
concept LockType = std::default_initializable<L> && requires(L &lock) {
    lock.lock();
    lock.unlock();
};

/// A lock of the kit as a type that is made without an argument. The default rank lets a heap below take locks, too,
/// as one that several heaps share does: Compose<MmapHeap, Bump<>, Locked<>, Unique<>, Freelist, Locked<>>.
template <sync::Rank R = sync::Rank::composed, class L = sync::Lock>
class CAIRN_BY_CHECKS RankedLock : public L {
public:
    constexpr RankedLock() : L(R) {}
};

/// A lock that the forking thread can hold during the fork. A heap with such a lock can be held, too.
template <class L>
concept ForkSafeLock = LockType<L> && requires(L &lock) {
    lock.hold_across_fork();
    lock.let_go_after_fork();
};

template <Heap Super, LockType L = RankedLock<>>
class LockedHeap {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool takes_others = TakesOthers<Super>;

    LockedHeap() = default;
    /// Passes its arguments to the heap below.
    template <class A, class... B>
        requires std::constructible_from<Super, A, B...>
    explicit LockedHeap(A &&a, B &&...b) : heap_(std::forward<A>(a), std::forward<B>(b)...) {}

    void *malloc(std::size_t size) {
        const sync::Guard guard(lock_);
        return heap_.malloc(size);
    }

    void free(void *p) {
        const sync::Guard guard(lock_);
        heap_.free(p);
    }

    std::size_t getSize(void *p) const
        requires SizedHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.getSize(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        const sync::Guard guard(lock_);
        heap_.clear();
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.memalign(wanted, size);
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.reallocate(p, size);
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.malloc_zeroed(size);
    }

    void *calloc(std::size_t count, std::size_t size)
        requires ArrayHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.calloc(count, size);
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.owns(p);
    }

    std::size_t remaining() const
        requires BoundedHeap<Super>
    {
        const sync::Guard guard(lock_);
        return heap_.remaining();
    }

    void lock_all()
        requires ForkSafeLock<L>
    {
        lock_.hold_across_fork();
        // No thread is at work in the heap below now: a trace writes what it has. Its locks are not held during the
        // fork: heaps with locks of their own may share it, and threads wait for it with those locks held.
        sync::lock_heap_across_fork(heap_);
        sync::unlock_heap_after_fork(heap_, sync::AfterFork::in_parent);
    }
    void unlock_all(sync::AfterFork side)
        requires ForkSafeLock<L>
    {
        if (side == sync::AfterFork::in_child) {
            sync::begin_heap_in_child(heap_);
        }
        lock_.let_go_after_fork();
    }

private:
    Super heap_;
    mutable L lock_;
};

template <class L = RankedLock<>>
struct Locked {
    template <class Super>
    using on = LockedHeap<Super, L>;
};

} // namespace cairn
