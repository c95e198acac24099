// SPDX-License-Identifier: MIT
//
// Heap registry: the thread heaps of an allocator. A thread gets one when it first needs it; when it ends, the next one does.
//
// Adds:    open, close, and which heap is to be visited next.
// Needs:   memory for the heaps themselves, from the kernel or where it has none from free runs.
// Keeps:   a heap is never unmapped: a late notice to it, or a walk, touches nothing that is gone.
// Threads: any; one lock.
// Errors:  nullptr when out of memory or of numbers (65,535 heaps at one time).
// Cost:    a lock per thread started and ended.
#pragma once

#include <cairn/thread/heap_memory.hpp>
#include <cairn/thread/thread_heap.hpp>
#include <cairn/thread/unowned_heaps.hpp>

#include <new>

namespace cairn {

template <class Global>
class HeapRegistry {
public:
    using Heap = ThreadHeap<Global>;
    constexpr HeapRegistry() = default;

    /// `wanted`, a heap of this registry, if no thread has it, else the one that was closed last, else a new one.
    /// `for_all`: the one that threads share that can have none; the last number is kept for it.
    Heap *open(Global &global, RunHeap &runs, Heap *wanted = nullptr, bool for_all = false) {
        sync::Guard hold(lock_);
        Heap *heap = unowned_.take(wanted);
        if (heap == nullptr && (heap = make(global, runs, for_all)) == nullptr) {
            return nullptr;
        }
        heap->attendance.begin();
        global.stock().heaps().opened();
        peak_ = std::max(peak_, ++in_use_);
        note_heaps(runs);
        return heap;
    }

    /// The heap has handed over what it could; something was `left`: its notice is on its way, or a visitor may have taken it in since.
    void close(Heap *heap, bool left) {
        {
            sync::Guard hold(lock_);
            unowned_.put(heap);
            heap->holdings().global().stock().heaps().closed();
            --in_use_;
            note_heaps(heap->holdings().global().maker().runs());
        }
        if (left || !heap->inbox().empty()) {
            tend(heap->inbox());
        }
    }

    /// Nobody economises while less is touched than `bytes`, and than Emptiness::small_process allows so many heaps.
    void set_small_process(RunHeap &runs, std::size_t bytes) {
        sync::Guard hold(lock_);
        small_process_ = bytes;
        note_heaps(runs);
    }

    /// After a notice to a heap that no thread has.
    void tend(Inbox &inbox) {
        sync::Guard hold(lock_);
        if (inbox.is_unowned()) {
            static_cast<Heap *>(inbox.heap)->hand_over_unowned();
        }
    }

    // ---- for visits (heap_visits.hpp). Not where there never was a second heap: nobody else has freed into the one.

    /// The next heap in turn, if its thread has not come by for `wait` milliseconds, or still has not and others have freed much since.
    Heap *next_inactive(std::uint64_t now, std::uint64_t wait) {
        const sync::Guard hold(lock_);
        hand_ = hand_ != nullptr ? hand_->next : all_;
        const bool may = hand_ != nullptr && made_ > 1;
        return may && hand_->attendance.is_due(now, wait, owes(hand_)) ? hand_ : nullptr;
    }

    /// 0 if next_inactive() has told of all; else so many calls are a look at each heap.
    unsigned heaps_to_check() {
        const sync::Guard hold(lock_);
        Heap *heap = made_ > 1 ? all_ : nullptr;
        while (heap != nullptr && heap->attendance.is_reported() && !owes(heap)) {
            heap = heap->next;
        }
        return heap != nullptr ? made_ + 1 : 0; // and one behind the last
    }

    /// All heaps, by `next`, in use or not; nullptr where fewer were made.
    Heap *first(unsigned at_least = 0) {
        const sync::Guard hold(lock_);
        return made_ >= at_least ? all_ : nullptr;
    }

    /// The next heap that may hold too much.
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

    /// In the child of a fork of a threaded process: all but `survivor` are idle and empty. The survivor if it has kept what it had.
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
            note_heaps(heap->holdings().global().maker().runs());
            if (heap->presence().reset_after_fork()) {
                heap->reset_after_fork();
                survivor = nullptr; // a visitor was at work in it
            } else {
                heap->holdings().forget_notices();
            }
        }
        return survivor;
    }

private:
    static bool owes(Heap *h) {
        return !h->presence().is_closed() &&
               h->inbox().freed() > h->holdings().share(Global::Emptiness::slack);
    }
    void note_heaps(RunHeap &runs) {
        runs.set_floor(std::min(small_process_, Global::Emptiness::small_process(in_use_)));
    }
    Heap *make(Global &global, RunHeap &runs, bool for_all) {
        const unsigned number = made_ + 1; // 0 is the global heap's
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
    Heap *hand_ = nullptr; ///< the heap that was looked at last
    HeapMemory<sizeof(Heap)> memory_;
    unsigned made_ = 0;
    std::size_t in_use_ = 0;
    std::size_t peak_ = 0;
    std::size_t small_process_ = 0;
};
} // namespace cairn
