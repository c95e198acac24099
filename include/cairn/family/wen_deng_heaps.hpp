// SPDX-License-Identifier: MIT
//
// The heaps of Wen and Deng: 1 to P, and the global one, heap 0; who owns a superblock, and how it changes hands.
//
// Adds:    the heap of the calling thread; the locking of a superblock's owner; transfer to and from heap 0; forks.
// Needs:   OwnerHeap and Superblock (wen_deng_heap.hpp, wen_deng_superblock.hpp).
// Keeps:   a superblock that some free has counted itself into changes no owner. After a free, a heap that is too
//          empty has handed a mostly empty superblock to the global heap, or has none that may go.
// Threads: any. Locks in the order superblock, heap i, global heap, back pointer.
// Cost:    lock_owner takes and drops a lock before it has the one it is for.
// Source:  Wen and Deng, sections 1.2 (the lines cited) and 2.4.
#pragma once

#include <cairn/family/wen_deng_heap.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/platform/thread_id.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn::wen_deng {

template <class Parameters, class Links>
class CAIRN_BY_CHECKS Heaps { // lock_owner() takes a lock for its caller
public:
    using Heap = OwnerHeap<Parameters, Links>;
    using Superblock = wen_deng::Superblock<Parameters, Links>;

    /// malloc, line 3.
    Heap &of_this_thread() { return heaps_[platform::mix(platform::thread_id()) % Parameters::heaps]; }

    /// free, line 8: is this heap 0?
    bool is_global(const Heap &heap) const { return &heap == &global_; }

    /// free, line 4, as section 2.4 has it: from the reading of the owner until its lock is ours, the reference keeps
    /// it the owner.
    static Heap &lock_owner(Superblock &s) {
        s.back_pointer.lock();
        // relaxed: hand_over_locked, which asks for it, holds the back pointer mutex, as we do here.
        s.references.fetch_add(1, std::memory_order_relaxed);
        Heap *const owner = s.owner;
        s.back_pointer.unlock();
        owner->lock.lock();
        check(s.owner == owner, "a superblock changed its owner while it was referenced");
        // relaxed: hand_over_locked holds the owner's lock, too.
        const unsigned before = s.references.fetch_sub(1, std::memory_order_relaxed);
        check(before != 0, "more references of a superblock were dropped than taken");
        return *owner;
    }

    /// malloc, lines 8 and 11 to 16. nullptr: the global heap has none with space that may go.
    Superblock *take_from_global_locked(unsigned c, Heap &heap) {
        const sync::Guard guard(global_.lock);
        for (Superblock *s = global_.fullest_with_space(c); s != nullptr; s = s->next) {
            if (hand_over_locked(*s, global_, heap)) {
                from_global_.fetch_add(1, std::memory_order_relaxed); // relaxed: a count
                return s;
            }
        }
        return nullptr;
    }

    /// free, lines 9 to 13.
    void keep_emptiness_locked(Heap &heap) {
        if (!heap.too_empty()) {
            return;
        }
        const sync::Guard guard(global_.lock);
        while (Superblock *const s1 = heap.mostly_empty_and_free_to_go()) {
            if (hand_over_locked(*s1, heap, global_)) {
                to_global_.fetch_add(1, std::memory_order_relaxed); // relaxed: a count
                return;
            }
        }
        check(heap.has_mostly_empty(),
              "a heap is too empty, and no free keeps a mostly empty superblock in it");
    }

    void statistics(Statistics &out) {
        for_each([&out](Heap &heap) { heap.statistics(out); });
        out.superblocks_to_global = to_global_.load(std::memory_order_relaxed); // relaxed: counts
        out.superblocks_from_global = from_global_.load(std::memory_order_relaxed);
        out.superblocks_fresh = out.superblocks; // none is ever given back
    }

    bool consistent() {
        bool all = true;
        for_each([&all](Heap &heap) { all = heap.consistent() && all; });
        return all;
    }

    void lock_all() {
        for_each([](Heap &heap) { heap.lock.hold_across_fork(); });
    }

    /// Other threads may have been on their way to a heap's lock, with the mutex or a reference of a superblock. They
    /// do not exist in the child.
    void unlock_all(sync::AfterFork side) {
        for_each([side](Heap &heap) {
            if (side == sync::AfterFork::in_child) {
                heap.for_each_locked([](Superblock &s) { forget_other_threads(s); });
            }
            heap.lock.let_go_after_fork();
        });
    }

private:
    /// Moves s, unless some free is about to lock `from` for it. Both heaps' locks are held.
    static bool hand_over_locked(Superblock &s, Heap &from, Heap &to) {
        const sync::Guard guard(s.back_pointer);
        // relaxed: we hold both locks under which lock_owner counts.
        if (s.references.load(std::memory_order_relaxed) != 0) {
            return false;
        }
        from.remove(s);
        s.owner = &to;
        to.add(s);
        return true;
    }

    static void forget_other_threads(Superblock &s) {
        s.mutex.reset_after_fork();
        s.back_pointer.reset_after_fork();
        s.references.store(0, std::memory_order_relaxed); // relaxed: the child is alone
    }

    template <class F>
    void for_each(F f) {
        for (Heap &heap : heaps_) {
            f(heap);
        }
        f(global_);
    }

    Heap heaps_[Parameters::heaps];
    Heap global_{sync::Rank::global_heap};
    std::atomic<std::uint64_t> to_global_{0};
    std::atomic<std::uint64_t> from_global_{0};
};

} // namespace cairn::wen_deng
