// SPDX-License-Identifier: MIT
//
// Thread heap: the superblocks of one thread. malloc and the owner's free run without a lock and without an atomic
// read-modify-write; the emptiness discipline moves superblocks to the global heap.
//
// Adds:    the fast paths, and the sections (sync::Presence) in which the contents may be used.
// Needs:   HeapContents; GlobalHeap below.
// Keeps:   one thread at a time uses the contents.
// Threads: its own thread, or a thread that holds a lock where several share a heap. Remote frees do not use the heap
//          (RemoteWord). While its thread is in no long section, another thread may visit it and take superblocks
//          (Visit).
// Errors:  nullptr when the global heap has no superblock.
// Cost:    three cache lines: the bin, the superblock, the block. Instructions: docs/way-of-a-malloc.md.
// Source:  Hoard, sections 3 and 4.
#pragma once

#include <cairn/superblock/gathering.hpp>
#include <cairn/sync/presence.hpp>
#include <cairn/thread/attendance.hpp>
#include <cairn/thread/heap_contents.hpp>

namespace cairn {

template <class Global>
class alignas(platform::cache_line) ThreadHeap {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;
    using Notice = typename Global::Notice;
    using Contents = HeapContents<Global>;

    /// A heap without superblocks that gets none: a placeholder for threads without a heap (PerThread).
    constexpr ThreadHeap() = default;

    /// The heap gets a number, and an inbox by that number.
    void open(Global &global, unsigned number) {
        contents_.holdings().open(global, number, this);
        gathering_.open();
    }

    /// The fast path: a block of a class up to Classes::table_limit. nullptr when the bin's superblock has no block in
    /// its list, or its first block is damaged: malloc_class() sees to both. The hazard word stays set: for visiting
    /// threads the bin is in use until the next section begins.
    CAIRN_INLINE void *try_malloc_small(std::size_t size) {
        const unsigned c = Classes::small_class_of(size);
        presence_.begin(c);
        OwnerLine *const s = contents_.shown_bins().at(c);
        if (CAIRN_UNLIKELY(!superblock::can_pop(s, slot_size))) {
            return nullptr;
        }
        return superblock::pop_unchecked(s);
    }

    /// The fast path for any class: a block of the recent superblock, else of the bin's. It ends its section.
    CAIRN_INLINE void *try_malloc_class(unsigned c) {
        presence_.begin(c);
        OwnerLine *const s = contents_.first_choice(c, contents_.shown_bins());
        void *const block = superblock::can_pop(s, span_of(s)) ? superblock::pop_unchecked(s) : nullptr;
        presence_.end();
        return block;
    }

    /// A block of class c, by the slow path. nullptr: as of HeapContents::malloc.
    void *malloc_class(unsigned c, Growth growth = Growth::now) {
        const Inside inside(*this);
        attendance.come_by();
        return contents_.malloc(c, growth);
    }

    /// Whether this heap owns the superblock. In a long section the answer stays right. relaxed: visits are over then,
    /// and what they did is seen (Presence::enter).
    bool owns(const OwnerLine *s) {
        return Global::Notice::heap_of(shared_of(s)->owner.load(std::memory_order_relaxed)) == this;
    }

    /// Frees a checked block of a superblock of this heap, in a section. True: its check is due, call check(s).
    CAIRN_INLINE bool free_local(OwnerLine *s, std::uintptr_t block) { return superblock::push(s, block); }

    /// The same of a medium block: the next of its class. Ends the section.
    CAIRN_INLINE bool free_medium(OwnerLine *s, std::uintptr_t block) {
        holdings().recent().note(s); // first, so that the flags of the count-down stay for the caller
        const bool due = free_local(s, block);
        presence_.end();
        return due;
    }

    /// Frees a checked block of any superblock, in a long section. False if this heap does not own it: nothing has
    /// changed. `due`: its check is due.
    bool free_inside(OwnerLine *s, std::uintptr_t block, bool &due) {
        const Inside inside(*this);
        const bool mine = owns(s);
        due = mine && free_local(s, block);
        return mine;
    }

    /// Gives back the chains that its thread has gathered: all, or the next one in turn.
    Gathering::AllLeft give_gathered() {
        const Inside inside(*this);
        return gathering_.give_all();
    }
    Gathering::Left give_next_gathered() {
        Gathering::Chain &chain = gathering_.next();
        if (CAIRN_LIKELY(chain.empty())) {
            return {};
        }
        const Inside inside(*this);
        return chain.empty() ? Gathering::Left{} : chain.give(); // a visiting thread may have given it back
    }
    Gathering &gathering() { return gathering_; }

    /// Checks a superblock whose check is due, and rebalances the heap. Whether the heap has given a superblock to the
    /// global heap since the last check, or its thread's absence was reported (Attendance): the caller asks for the
    /// rest.
    CAIRN_INLINE bool check(OwnerLine *s) {
        const Inside inside(*this);
        if (owns(s)) { // a visiting thread may have taken it since
            contents_.check(s);
        }
        attendance.come_by();
        contents_.settle();
        const bool given = holdings().take_given_flag();
        return attendance.is_missed() || given;
    }

    /// The heap's thread ends, or its new thread is no heir: superblocks go to the global heap.
    void hand_over(Keep keep = Keep::full) {
        const Inside inside(*this);
        contents_.hand_over(keep);
    }

    /// For a heap that has no thread and gets none meanwhile: superblocks that other threads have freed blocks of go to
    /// the global heap.
    void hand_over_unowned() {
        const sync::Guard alone(presence_.lock());
        contents_.hand_over_unowned();
    }

    /// Free bytes of what its superblocks have touched, as accounted.
    std::size_t free_bytes() {
        const Inside inside(*this);
        return holdings().held() - holdings().used();
    }

    /// Gives away every superblock without live blocks. False if no superblock went.
    bool give_empty() {
        const Inside inside(*this);
        return contents_.give_empty();
    }

    Inbox &inbox() { return holdings().inbox(); }
    sync::Presence &presence() { return presence_; }
    auto &bins() { return contents_.bins(); }
    Holdings<Global> &holdings() { return contents_.holdings(); }

    /// In the child of a fork, for a heap without a thread there: it has no superblock.
    void reset_after_fork() {
        gathering_.publish_after_fork();
        contents_.forget();
        presence_.reset_after_fork();
    }

    ThreadHeap *next = nullptr;         ///< for the registry: in the list of all heaps
    ThreadHeap *next_unowned = nullptr; ///< for the registry: in the list of heaps without a thread
    ThreadHeap *previous_unowned = nullptr;

private:
    /// A long section. In the first one after the process has found that it has no heavy fence, the heap hides its
    /// superblocks from the fast paths. From then on visiting threads need no heavy fence.
    class [[nodiscard]] Inside {
    public:
        CAIRN_INLINE explicit Inside(ThreadHeap &self) : inside_(self.presence_) {
            if (CAIRN_UNLIKELY(platform::heavy_fence_missing()) && !self.presence_.fenced()) {
                self.contents_.hide();
                self.presence_.fence_from_now_on();
            }
        }

    private:
        sync::Inside inside_;
    };

    sync::Presence presence_;
    Contents contents_;
    Gathering gathering_;

public:
    Attendance attendance; ///< last: other threads write to it, and the lines before are the owner's
};

} // namespace cairn
