// SPDX-License-Identifier: MIT
//
// Global heap: the superblocks that no thread heap holds, and the border between thread heaps and free runs.
//
// Adds:    acquire (the fullest superblock of a class), fresh (a new one), release (a thread heap's surplus),
//          and the reclaiming of superblocks that empty out here through remote frees.
// Needs:   RunHeap below; a registry of the heaps' in-trays.
// Keeps:   a superblock whose RemoteWord names owner 0 is in these lists, and is nobody's else to touch but
//          for pushes on its remote word; one without live blocks is a free run, usable for any class.
// Threads: any; one lock, held for some tens of instructions.
// Cost:    one lock for each superblock moved.
// Source:  Hoard, sections 3.1 and 3.2 (heap 0).
#pragma once

#include <cairn/platform/random.hpp>
#include <cairn/run/run_heap.hpp>
#include <cairn/superblock/emptiness.hpp>
#include <cairn/superblock/pending.hpp>
#include <cairn/superblock/places.hpp>

namespace cairn {

template <class Classes, class Discipline>
class GlobalHeap {
public:
    using SizeClasses = Classes;
    using Emptiness = Discipline;
    static constexpr unsigned max_heaps = 1u << 16; // RemoteWord's owner field

    struct Counters {
        std::size_t to_global = 0;
        std::size_t from_global = 0;
        std::size_t fresh = 0;
    };

    constexpr GlobalHeap(RunHeap &runs, unsigned medium_slots) : runs_(runs), medium_slots_(medium_slots) {}
    GlobalHeap(const GlobalHeap &) = delete;
    GlobalHeap &operator=(const GlobalHeap &) = delete;

    /// Classes up to Classes::table_limit live in superblocks of one slot, the others in larger ones.
    unsigned slots_of_class(unsigned c) const {
        return Classes::size_of(c) <= Classes::table_limit ? 1 : medium_slots_;
    }

    void enroll(unsigned heap, PendingSuperblocks *tray) {
        trays_[heap].store(tray, std::memory_order_release);
    }

    /// The fullest superblock of the class that has room, now owned by `heap`; nullptr when there is none.
    OwnerLine *acquire(unsigned size_class, unsigned heap, void *owner) {
        OwnerLine *s = nullptr;
        {
            sync::Guard hold(lock_);
            s = places_.take_fullest(size_class);
            if (s == nullptr) {
                return nullptr;
            }
            ++counters_.from_global;
            // From here on remote frees are the new owner's. acq_rel: what the former owner did to the
            // OwnerLine came before its release(); the frees so far are taken in by the caller's collect.
            shared_of(s)->remote.fetch_or(RemoteWord::owned_by(heap), std::memory_order_acq_rel);
        }
        own(s, owner);
        return s;
    }

    /// A superblock without any carved block, owned by `heap`; nullptr when out of memory.
    OwnerLine *fresh(unsigned size_class, unsigned heap, void *owner) {
        const unsigned slots = slots_of_class(size_class);
        const Run run = runs_.allocate(slots, slots);
        if (run.first == nullptr) {
            return nullptr;
        }
        format(run.first, size_class, run.clean, heap, owner);
        fresh_.fetch_add(1, std::memory_order_relaxed);
        return run.first;
    }

    /// Formats a run, or an empty superblock of the caller's, for a class.
    void format(OwnerLine *s, unsigned size_class, bool clean, unsigned heap, void *owner) {
        Segment *const segment = Segment::of(s);
        const unsigned slot = segment->slot_of(s);
        const std::uint64_t random = platform::mix(secret_.load(std::memory_order_relaxed) ^
                                                   draws_.fetch_add(1, std::memory_order_relaxed));
        superblock::format(s, size_class, Classes::size_of(size_class), random, clean);
        shared_of(s)->remote.store(RemoteWord::owned_by(heap), std::memory_order_relaxed);
        segment->set_kinds(slot + 1, s->slots - 1u, SlotKind::rest);
        segment->set_kinds(slot, 1, SlotKind::superblock);
        own(s, owner);
    }

    /// Takes a superblock over from `heap`. False, and nothing has changed, while a notice about it is on its
    /// way to that heap.
    bool release(OwnerLine *s, unsigned heap) {
        SharedLine *const shared = shared_of(s);
        void *const owner = shared->owner.exchange(nullptr, std::memory_order_relaxed);
        {
            sync::Guard hold(lock_);
            for (;;) {
                superblock::collect(s);
                shared->notify.store(notice_at(s), std::memory_order_relaxed);
                std::uint64_t expected = RemoteWord::owned_by(heap);
                // release: pairs with the acquire of the next owner's fetch_or and of those who push.
                if (shared->remote.compare_exchange_strong(expected, 0, std::memory_order_acq_rel,
                                                           std::memory_order_relaxed)) {
                    break;
                }
                if (RemoteWord{expected}.queued()) {
                    shared->notify.store(step_of(s), std::memory_order_relaxed);
                    shared->owner.store(owner, std::memory_order_relaxed);
                    return false;
                }
            }
            if (s->live() != 0) {
                ++counters_.to_global;
                places_.put(s);
                return true;
            }
        }
        runs_.release(s);
        return true;
    }

    /// For a superblock whose queued bit the caller has just set: tells whoever owns it. The tray that got
    /// the notice, or nullptr.
    PendingSuperblocks *notice(OwnerLine *s, RemoteWord word) {
        return word.owner() != 0 ? deliver(s, word.owner()) : look_at(s);
    }

    Counters counters() {
        sync::Guard hold(lock_);
        Counters c = counters_;
        c.fresh = fresh_.load(std::memory_order_relaxed);
        return c;
    }

    /// What SharedLine::owner holds: the heap; for a superblock of several slots an odd address, so that the
    /// fast path, which knows one slot, does not take it for its own.
    static void *mark_owner(const OwnerLine *s, void *heap) {
        return s->slots == 1 ? heap : static_cast<char *>(heap) + 1;
    }

    RunHeap &runs() { return runs_; }
    void seed(std::uint64_t secret) { secret_.store(secret, std::memory_order_relaxed); }

    /// In the child of a fork of a threaded process: forgets the lists; adopt() fills them again.
    void reset_after_fork() {
        lock_.reset_after_fork();
        places_ = {};
    }

    /// Takes a superblock that belongs to nobody who is still there, its accounts set right by recount().
    void adopt(OwnerLine *s) {
        SharedLine *const shared = shared_of(s);
        shared->owner.store(nullptr, std::memory_order_relaxed);
        shared->notify.store(notice_at(s), std::memory_order_relaxed);
        if (s->live() != 0) {
            places_.put(s);
        } else {
            runs_.release(s);
        }
    }

private:
    static std::uint16_t step_of(const OwnerLine *s) {
        return static_cast<std::uint16_t>(Discipline::step_of(shared_of(s)->capacity));
    }

    /// After how many remote frees to look at a superblock here: a step, or when it is empty.
    static std::uint16_t notice_at(const OwnerLine *s) {
        const std::uint16_t step = step_of(s);
        return s->live() < step ? static_cast<std::uint16_t>(s->live()) : step;
    }

    static void own(OwnerLine *s, void *owner) {
        SharedLine *const shared = shared_of(s);
        shared->notify.store(step_of(s), std::memory_order_relaxed);
        shared->owner.store(mark_owner(s, owner), std::memory_order_relaxed);
    }

    /// Takes in the remote frees of a superblock that was ours when they were made.
    PendingSuperblocks *look_at(OwnerLine *s) {
        SharedLine *const shared = shared_of(s);
        {
            sync::Guard hold(lock_);
            RemoteWord word{shared->remote.load(std::memory_order_relaxed)};
            if (word.owner() != 0) { // a thread heap acquired it meanwhile; the notice is for that one
                return deliver(s, word.owner());
            }
            for (;;) {
                superblock::take_in(
                    s, {shared->remote.fetch_and(RemoteWord::owner_mask, std::memory_order_acquire)});
                // seq_cst, both: a thread that pushes either sees the new threshold, or its push is seen
                // below.
                shared->notify.store(notice_at(s), std::memory_order_seq_cst);
                std::uint64_t now = shared->remote.load(std::memory_order_seq_cst);
                const RemoteWord seen{now};
                if (s->live() == 0 || seen.count() < notice_at(s) || seen.queued() ||
                    !shared->remote.compare_exchange_strong(now, now | RemoteWord::queued_bit,
                                                            std::memory_order_relaxed)) {
                    break;
                }
            }
            places_.take_out(s);
            if (s->live() != 0) {
                places_.put(s);
                return nullptr;
            }
        }
        runs_.release(s);
        return nullptr;
    }

    PendingSuperblocks *deliver(OwnerLine *s, unsigned heap) {
        PendingSuperblocks *const tray = trays_[heap].load(std::memory_order_acquire);
        tray->push(s);
        return tray;
    }

    RunHeap &runs_;
    const unsigned medium_slots_;
    sync::Lock lock_{sync::Rank::global_heap};
    Places<Classes::count> places_;
    Counters counters_;
    std::atomic<std::size_t> fresh_{0};
    std::atomic<std::uint64_t> secret_{0};
    std::atomic<std::uint64_t> draws_{0};
    std::atomic<PendingSuperblocks *> trays_[max_heaps]{};
};

} // namespace cairn
