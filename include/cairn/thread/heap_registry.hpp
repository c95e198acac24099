// SPDX-License-Identifier: MIT
//
// Heap registry: the thread heaps of an allocator. A thread gets one at its first need: that of an ended thread, else a
// new one.
//
// Adds:    open, close, and which heap is to be visited next.
// Needs:   memory for the heaps themselves, from the kernel, or from free runs where the kernel has none.
// Keeps:   a heap is never unmapped: a late notice to it, or a walk over all heaps, touches only memory that exists.
// Threads: any; one lock.
// Errors:  nullptr when out of memory or out of numbers (65,535 heaps at one time).
// Cost:    a lock for each thread that starts or ends.
#pragma once

#include <cairn/platform/futex.hpp>
#include <cairn/thread/heap_memory.hpp>
#include <cairn/thread/thread_heap.hpp>
#include <cairn/thread/unowned_heaps.hpp>

#include <algorithm>
#include <new>

namespace cairn {

template <class Global>
class HeapRegistry {
public:
    using Heap = ThreadHeap<Global>;
    constexpr HeapRegistry() = default;

    /// A heap for the calling thread: `wanted`, a heap of this registry, if no thread has it, else the one that was
    /// closed last, else a new one. `for_all`: for all threads that can have none of their own, with the number that is
    /// kept for it.
    Heap *open(Global &global, RunHeap &runs, Heap *wanted = nullptr, bool for_all = false) {
        sync::Guard hold(lock_);
        Heap *heap = unowned_.take(wanted);
        if (heap == nullptr && (heap = make(global, runs, for_all)) == nullptr) {
            return nullptr;
        }
        heap->attendance.begin();
        global.stock().heaps().opened();
        peak_ = std::max(peak_, ++in_use_);
        set_floor(runs);
        return heap;
    }

    /// Takes back a heap that has handed its superblocks over. If a notice about a full one came since, it is in the
    /// inbox, or a visiting thread has processed it and left the superblock where it was: so the heap is tended.
    void close(Heap *heap) {
        {
            sync::Guard hold(lock_);
            unowned_.put(heap);
            heap->holdings().global().stock().heaps().closed();
            --in_use_;
            set_floor(heap->holdings().global().maker().runs());
        }
        tend(heap->inbox());
    }

    /// A process that has touched less than `bytes`, and less than Emptiness::small_process says for its heaps, has no
    /// limits.
    void set_small_process(RunHeap &runs, std::size_t bytes) {
        sync::Guard hold(lock_);
        small_process_ = bytes;
        set_floor(runs);
    }

    /// After a notice to a heap without a thread: hands the heap's superblocks over.
    void tend(Inbox &inbox) {
        sync::Guard hold(lock_);
        if (inbox.is_unowned()) {
            static_cast<Heap *>(inbox.heap)->hand_over_unowned();
        }
    }

    // ---- for visits (heap_visits.hpp). Where there never was a second heap no other thread has freed into the only
    // one.
    /// The next heap in turn, if it is inactive and was not reported, or other threads have freed much in it since;
    /// else nullptr.
    Heap *next_inactive(std::uint64_t now, std::uint64_t wait) {
        const sync::Guard hold(lock_);
        hand_ = hand_ != nullptr ? hand_->next : all_;
        const bool may = hand_ != nullptr && made_ > 1;
        return may && hand_->attendance.is_due(now, wait, has_pending(hand_)) ? hand_ : nullptr;
    }

    /// 0 if next_inactive() has reported all heaps; else how many calls of it look at each heap.
    unsigned heaps_to_check() {
        const sync::Guard hold(lock_);
        Heap *heap = made_ > 1 ? all_ : nullptr;
        while (heap != nullptr && heap->attendance.is_reported() && !has_pending(heap)) {
            heap = heap->next;
        }
        return heap != nullptr ? made_ + 1 : 0; // one call finds the end of the list
    }

    /// The first of all heaps, linked by `next`, with and without threads; nullptr where fewer than `at_least` were
    /// made.
    Heap *first(unsigned at_least = 0) {
        const sync::Guard hold(lock_);
        return made_ >= at_least ? all_ : nullptr;
    }

    /// Whether a heap has a thread, and was not reported since its last slow path or has a notice. It is reported then.
    bool is_to_retire(Heap *heap) {
        const sync::Guard hold(lock_);
        return !heap->inbox().is_unowned() &&
               heap->attendance.is_due(platform::monotonic_milliseconds(), 0, !heap->inbox().empty());
    }

    /// The inbox of the next heap that may have too much free; nullptr when there is none.
    Inbox *next_wanted(Global &global, WantedVisits::Pass &pass) {
        const sync::Guard hold(lock_);
        return made_ > 1 ? global.notices().wanted_visits().take(pass) : nullptr;
    }

    void statistics(Statistics &out) {
        const sync::Glance hold(lock_);
        out.heaps = in_use_;
        out.heaps_peak = peak_;
        out.metadata += made_ * sizeof(Heap);
        for (Heap *heap = all_; heap != nullptr; heap = heap->next) {
            heap->gathering().count_as_free(out);
        }
    }

    /// In the child of a fork: no heap but `survivor` has a thread or superblocks. `survivor` if it has kept what it
    /// had, else nullptr.
    Heap *repair_after_fork(Heap *survivor) {
        lock_.reset_after_fork();
        unowned_ = {};
        hand_ = nullptr;
        in_use_ = 0;
        for (Heap *heap = all_; heap != nullptr; heap = heap->next) {
            if (heap != survivor) {
                heap->reset_after_fork();
                unowned_.put(heap);
                continue;
            }
            ++in_use_;
            heap->holdings().global().stock().heaps().opened();
            set_floor(heap->holdings().global().maker().runs());
            if (heap->presence().reset_after_fork()) {
                heap->reset_after_fork();
                survivor = nullptr; // a visiting thread was at work in it
            } else {
                heap->holdings().forget_notices();
            }
        }
        return survivor;
    }

private:
    static bool has_pending(Heap *h) { // whether other threads have freed much in it
        return !h->presence().is_closed() &&
               h->inbox().freed() > h->holdings().share(Global::Emptiness::slack);
    }
    void set_floor(RunHeap &runs) {
        runs.set_floor(std::min(small_process_, Global::Emptiness::small_process(in_use_)));
    }
    Heap *make(Global &global, RunHeap &runs, bool for_all) {
        const unsigned number = made_ + 1; // 0: the global heap
        const unsigned end = InboxTable::numbers - (for_all ? 0 : 1);
        const bool has_place = number < end && global.notices().inboxes().make_room(runs, number);
        void *const place = has_place ? memory_.take(runs) : nullptr;
        if (place == nullptr) {
            return nullptr;
        }
        if (all_ == nullptr) {
            platform::prepare_heavy_fence();
        }
        auto *const heap = new (place) Heap;
        heap->open(global, ++made_);
        heap->next = all_;
        all_ = heap;
        return heap;
    }

    sync::Lock lock_{sync::Rank::registry};
    UnownedHeaps<Heap> unowned_;
    Heap *all_ = nullptr;
    Heap *hand_ = nullptr; ///< of the last next_inactive()
    HeapMemory<sizeof(Heap)> memory_;
    unsigned made_ = 0;
    std::size_t in_use_ = 0;
    std::size_t peak_ = 0;
    std::size_t small_process_ = 0;
};
} // namespace cairn
