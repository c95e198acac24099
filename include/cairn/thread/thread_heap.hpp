// SPDX-License-Identifier: MIT
//
// Thread heap: the superblocks of one thread. malloc and the owner's free run without a lock and without an
// atomic read-modify-write; the emptiness discipline moves superblocks to the global heap.
//
// Adds:    a bin for each size class with its current superblock; u and a; the slow paths.
// Needs:   GlobalHeap below.
// Keeps:   the emptiness invariant after each look (Emptiness); every superblock of the heap is in exactly
//          one place.
// Threads: its own thread, or who holds `guard()` where several share a heap. Remote frees go round it
//          (RemoteWord).
// Errors:  nullptr when the global heap has nothing.
// Cost:    malloc some 16 instructions, free_local some 8, on three cache lines (the bin, the superblock, the
//          block).
// Source:  Hoard, sections 3 and 4, with the accounting done at borders instead of at each call.
#pragma once

#include <cairn/superblock/global_heap.hpp>

namespace cairn {

template <class Global>
class alignas(platform::cache_line) ThreadHeap {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;

    /// A heap that has nothing and gets nothing: what a thread has before its first slow path.
    constexpr ThreadHeap() { forget_all(); }
    ThreadHeap(const ThreadHeap &) = delete;
    ThreadHeap &operator=(const ThreadHeap &) = delete;

    void open(Global &global, unsigned number) {
        global_ = &global;
        number_ = number;
        global.enroll(number, &tray_);
    }

    /// The fast path: a block of a class up to Classes::table_limit. nullptr when the bin is dry, or its
    /// first block is damaged: malloc_class() knows what to do.
    CAIRN_INLINE void *try_malloc_small(std::size_t size) {
        OwnerLine *const s = current_[Classes::small_class_of(size)];
        return CAIRN_LIKELY(superblock::can_pop(s, slot_size)) ? superblock::pop_unchecked(s) : nullptr;
    }

    /// A block of any class; nullptr when out of memory.
    void *malloc_class(unsigned c) {
        OwnerLine *s = current_[c];
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
        place_anew(s);
        settle();
    }

    /// Takes in notices of remote frees and keeps the invariant; part of every slow path.
    void settle() {
        if (!tray_.empty()) {
            empty_tray();
        }
        while (Discipline::too_empty(used_, held_)) {
            OwnerLine *const s = places_.emptiest(movable_groups);
            if (s == nullptr || !give(s)) {
                break;
            }
        }
    }

    /// Hands every superblock to the global heap. One about which a notice is still on its way stays; the
    /// next thread that gets this heap finds it.
    void hand_over() {
        empty_tray();
        for (OwnerLine *&s : current_) {
            if (s != &nothing) {
                superblock::collect(s);
                account(s);
                places_.put(s);
                s = &nothing;
            }
        }
        SuperblockList all; // first all, then each once: give() may put one back
        while (OwnerLine *s = places_.any()) {
            places_.take_out(s);
            all.push_front(s);
        }
        while (OwnerLine *s = all.front()) {
            all.remove(s);
            give(s);
        }
    }

    /// Frees every superblock with all its blocks. Only when no other thread uses any block of this heap any
    /// more.
    void free_all() {
        empty_tray();
        for (OwnerLine *&s : current_) {
            if (s != &nothing) {
                places_.put(s);
                s = &nothing;
            }
        }
        while (OwnerLine *s = places_.any()) {
            places_.take_out(s);
            shared_of(s)->owner.store(nullptr, std::memory_order_relaxed);
            shared_of(s)->remote.store(0, std::memory_order_relaxed);
            global_->runs().release(s);
        }
        used_ = 0;
        held_ = 0;
    }

    sync::Lock &guard() { return guard_; }
    Global &global() { return *global_; }
    unsigned number() const { return number_; }
    PendingSuperblocks &tray() { return tray_; }

    std::size_t used() const { return used_; } ///< u: live bytes as last accounted
    std::size_t held() const { return held_; } ///< a: touched bytes of the superblocks held

    /// In the child of a fork: this heap's thread is not there, what it held was adopted by the global heap.
    void reset_after_fork() {
        forget_all();
        places_ = {};
        used_ = 0;
        held_ = 0;
        tray_.reset_after_fork();
        guard_.reset_after_fork();
    }

    ThreadHeap *next = nullptr;      ///< for the registry: all heaps
    ThreadHeap *next_idle = nullptr; ///< and those that no thread has

private:
    static constexpr unsigned movable_groups =
        Discipline::template movable_groups<Places<Classes::count>::groups>;

    /// The current superblock of a bin that has none: an empty list, for ever.
    static inline constinit OwnerLine nothing{
        1, 0, 0, 0, 0, 0, nullptr, nullptr, 0, 1, 0, 0, Place::nowhere, false};

    constexpr void forget_all() {
        for (OwnerLine *&s : current_) {
            s = &nothing;
        }
    }

    static std::size_t block_bytes(const OwnerLine *s, std::uint32_t blocks) {
        return std::size_t{blocks} * Classes::size_of(s->size_class);
    }

    /// Brings u up to date for one superblock and sets its next border.
    void account(OwnerLine *s) {
        used_ += block_bytes(s, s->live()) - block_bytes(s, s->accounted);
        s->accounted = s->live();
        Discipline::rearm(s);
    }

    void join(OwnerLine *s) {
        used_ += block_bytes(s, s->accounted = s->live());
        held_ += s->extent;
    }

    void place_anew(OwnerLine *s) {
        account(s);
        if (s->place != Place::current) {
            places_.take_out(s);
            places_.put(s);
        }
    }

    CAIRN_NOINLINE void empty_tray() {
        for (OwnerLine *s = tray_.take(), *behind = nullptr; s != nullptr; s = behind) {
            SharedLine *const shared = shared_of(s);
            behind = shared->pending_next.load(std::memory_order_relaxed);
            // Clears `queued`: the next step of remote frees sends a new notice.
            superblock::take_in(
                s, {shared->remote.fetch_and(RemoteWord::owner_mask, std::memory_order_acquire)});
            place_anew(s);
        }
    }

    /// To the global heap. False when it has to stay for now.
    bool give(OwnerLine *s) {
        places_.take_out(s);
        const std::size_t used = block_bytes(s, s->accounted);
        const std::size_t extent = s->extent;
        if (!global_->release(s, number_)) {
            place_anew(s);
            return false;
        }
        used_ -= used;
        held_ -= extent;
        return true;
    }

    /// Makes the bin of class c able to pop. nullptr when out of memory.
    CAIRN_COLD OwnerLine *refill(unsigned c) {
        settle();
        OwnerLine *s = current_[c];
        while (s == &nothing || !replenish(s)) {
            if (s != &nothing) {
                places_.put(s);
            }
            current_[c] = &nothing;
            s = find(c);
            if (s == nullptr) {
                return nullptr;
            }
            s->place = Place::current;
            current_[c] = s;
        }
        return s;
    }

    /// Blocks that others have freed, else new ones cut from the superblock.
    bool replenish(OwnerLine *s) {
        if (!RemoteWord{shared_of(s)->remote.load(std::memory_order_relaxed)}.empty()) {
            superblock::collect(s);
        }
        if (superblock::is_end(s->free)) {
            const std::uint32_t before = s->extent;
            superblock::carve(s);
            held_ += s->extent - before;
        }
        account(s);
        return !superblock::is_end(s->free);
    }

    /// The next superblock for class c: the fullest of ours, an empty one of ours, one of the global heap, a
    /// new one.
    OwnerLine *find(unsigned c) {
        if (OwnerLine *s = places_.take_fullest(c)) {
            return s;
        }
        OwnerLine *s = places_.empty();
        if (s != nullptr && s->slots == global_->slots_of_class(c) && recycle(s, c)) {
            return s;
        }
        s = global_->acquire(c, number_, this);
        if (s != nullptr) {
            superblock::collect(s);
        } else {
            s = global_->fresh(c, number_, this);
        }
        if (s != nullptr) {
            Discipline::rearm(s);
            join(s);
        }
        return s;
    }

    /// Formats an empty superblock for another class. False while a notice about it is on its way.
    bool recycle(OwnerLine *s, unsigned c) {
        if (RemoteWord{shared_of(s)->remote.load(std::memory_order_acquire)}.queued()) {
            return false;
        }
        places_.take_out(s);
        const std::uint32_t extent = s->extent;
        global_->format(s, c, false, number_, this);
        s->extent = extent;
        return true;
    }

    OwnerLine *current_[Classes::count];
    Global *global_ = nullptr;
    unsigned number_ = 0;
    std::size_t used_ = 0;
    std::size_t held_ = 0;
    Places<Classes::count> places_;
    sync::Lock guard_{sync::Rank::thread_heap};
    PendingSuperblocks tray_;
};

} // namespace cairn
