// SPDX-License-Identifier: MIT
//
// Thread heap: the superblocks of one thread. malloc and the owner's free run without a lock and without an
// atomic read-modify-write; the emptiness discipline moves superblocks to the global heap.
//
// Adds:    a bin for each size class with its current superblock, and the slow paths that fill it.
// Needs:   Holdings, and GlobalHeap below.
// Keeps:   every superblock of the heap is in one bin or one place of its holdings.
// Threads: its own thread, or who holds a lock where several share a heap. Remote frees go round it
//          (RemoteWord).
// Errors:  nullptr when the global heap has nothing.
// Cost:    malloc some 16 instructions, free_local some 8, on three cache lines (the bin, the superblock, the
//          block).
// Source:  Hoard, sections 3 and 4.
#pragma once

#include <cairn/thread/bins.hpp>
#include <cairn/thread/next_superblock.hpp>

namespace cairn {

template <class Global>
class alignas(platform::cache_line) ThreadHeap {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;

    /// A heap that has nothing and gets nothing: what a thread has before its first slow path.
    constexpr ThreadHeap() = default;

    void open(Global &global, unsigned number) { holdings_.open(global, number); }

    /// The fast path: a block of a class up to Classes::table_limit. nullptr when the bin is dry, or its
    /// first block is damaged: malloc_class() knows what to do.
    CAIRN_INLINE void *try_malloc_small(std::size_t size) {
        OwnerLine *const s = bins_.at(Classes::small_class_of(size));
        return CAIRN_LIKELY(superblock::can_pop(s, slot_size)) ? superblock::pop_unchecked(s) : nullptr;
    }

    /// A block of any class; nullptr when out of memory.
    void *malloc_class(unsigned c) {
        OwnerLine *s = bins_.at(c);
        if (superblock::is_end(s->free)) {
            s = refill(c);
            if (s == nullptr) {
                return nullptr;
            }
        }
        return superblock::pop(s, span_of(s));
    }

    /// A checked block of a superblock that this heap owns. True: call look_at(s), a border was reached.
    CAIRN_INLINE bool free_local(OwnerLine *s, std::uintptr_t block) { return superblock::push(s, block); }

    /// What a free at a border does: accounts, finds the superblock its new place, and keeps the invariant.
    CAIRN_COLD void look_at(OwnerLine *s) {
        holdings_.place_anew(s);
        settle();
    }

    /// Hands every superblock to the global heap.
    void hand_over() {
        holdings_.empty_tray();
        empty_bins();
        holdings_.give_all();
    }

    /// Gives up every superblock without live blocks. False if there was none.
    bool give_empty() {
        for (unsigned c = 0; c < Classes::count; ++c) {
            if (!bins_.is_empty(c)) {
                superblock::collect(bins_.at(c));
                holdings_.account(bins_.at(c));
                if (bins_.at(c)->live() == 0) {
                    holdings_.place_anew(bins_.take(c));
                }
            }
        }
        settle();
        return holdings_.give_empty();
    }

    PendingSuperblocks &tray() { return holdings_.tray(); }
    Holdings<Global> &holdings() { return holdings_; }

    /// In the child of a fork: this heap's thread is not there, what it held was adopted by the global heap.
    void reset_after_fork() {
        bins_.forget();
        bins_seen_at_ = 0;
        holdings_.reset_after_fork();
    }

    ThreadHeap *next = nullptr;      ///< for the registry: all heaps
    ThreadHeap *next_idle = nullptr; ///< and those that no thread has

private:
    void settle() {
        holdings_.settle();
        const std::size_t overdraft = holdings_.overdraft();
        bins_seen_at_ = overdraft < bins_seen_at_ ? overdraft : bins_seen_at_;
        if (CAIRN_UNLIKELY(overdraft > bins_seen_at_ + Discipline::bins_step)) {
            thin_bins();
        }
    }

    /// The invariant can not be kept by what is in no bin: what is free in the bins counts as well, beyond a
    /// constant. Looked at again when the heap has grown emptier by a step.
    CAIRN_COLD void thin_bins() {
        for (;;) {
            const auto slack = bins_.slack();
            if (slack.free_bytes <= Discipline::bins_slack) {
                break;
            }
            holdings_.place_anew(bins_.take(slack.widest));
        }
        holdings_.settle();
        bins_seen_at_ = holdings_.overdraft();
    }

    void empty_bins() {
        for (unsigned c = 0; c < Classes::count; ++c) {
            if (!bins_.is_empty(c)) {
                OwnerLine *const s = bins_.take(c);
                superblock::collect(s);
                holdings_.account(s);
                holdings_.places().put(s);
            }
        }
    }

    /// Makes the bin of class c able to pop. nullptr when out of memory.
    CAIRN_COLD OwnerLine *refill(unsigned c) {
        settle();
        while (bins_.is_empty(c) || !replenish(bins_.at(c))) {
            if (!bins_.is_empty(c)) {
                holdings_.places().put(bins_.take(c));
            }
            OwnerLine *const found = next_superblock(holdings_, c, this);
            if (found == nullptr) {
                return nullptr;
            }
            bins_.fill(c, found);
        }
        return bins_.at(c);
    }

    /// Blocks that others have freed, else new ones cut from the superblock.
    bool replenish(OwnerLine *s) {
        if (superblock::has_remote_frees(s)) {
            superblock::collect(s);
        }
        if (superblock::is_end(s->free)) {
            holdings_.carve(s);
        }
        holdings_.account(s);
        return !superblock::is_end(s->free);
    }

    Bins<Classes::count> bins_;
    std::size_t bins_seen_at_ = 0;
    Holdings<Global> holdings_;
};

} // namespace cairn
