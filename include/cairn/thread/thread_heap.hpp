// SPDX-License-Identifier: MIT
//
// Thread heap: the superblocks of one thread. malloc and the owner's free run without a lock and without an
// atomic read-modify-write; the emptiness discipline moves superblocks to the global heap.
//
// Adds:    the fast paths, and who may do what when with the contents.
// Needs:   HeapContents; GlobalHeap below.
// Keeps:   the contents are used by one thread at a time.
// Threads: its own thread, or who holds a lock where several share a heap. Remote frees go round it (RemoteWord). While
//          its thread is not inside, others may visit it and take superblocks (Visit).
// Errors:  nullptr when the global heap has nothing.
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

    /// A heap that has nothing and gets nothing: what a thread has before its first slow path.
    constexpr ThreadHeap() = default;

    void open(Global &global, unsigned number) {
        contents_.holdings().open(global, number, this);
        gathering_.open();
    }

    /// The fast path: a block of a class up to Classes::table_limit. nullptr when the bin is dry, or its
    /// first block is damaged: malloc_class() knows what to do. The mark stays: for visitors the bin is in use until the next section.
    CAIRN_INLINE void *try_malloc_small(std::size_t size) {
        const unsigned c = Classes::small_class_of(size);
        presence_.begin(c);
        OwnerLine *const s = contents_.shown_bins().at(c);
        if (CAIRN_UNLIKELY(!superblock::can_pop(s, slot_size))) {
            return nullptr;
        }
        return superblock::pop_unchecked(s);
    }

    /// The same for any class; nothing is left to be ended.
    void *try_malloc_class(unsigned c) {
        presence_.begin(c);
        OwnerLine *const s = contents_.shown_bins().at(c);
        void *const block = superblock::can_pop(s, span_of(s)) ? superblock::pop_unchecked(s) : nullptr;
        presence_.end();
        return block;
    }

    /// A block of any class; nullptr when out of memory, or when visits come first.
    void *malloc_class(unsigned c, Growth growth = Growth::now) {
        const Inside inside(*this);
        attendance.come_by();
        return contents_.malloc(c, growth);
    }

    /// Whether the superblock is this heap's. An answer to rely on in a long section. relaxed: visits are over then, and what they did
    /// is seen (Presence::enter).
    bool owns(const OwnerLine *s) {
        return Global::Notice::heap_of(shared_of(s)->owner.load(std::memory_order_relaxed)) == this;
    }

    /// A checked block of a superblock that this heap owns, in a section. True: its check is due, call check(s).
    CAIRN_INLINE bool free_local(OwnerLine *s, std::uintptr_t block) { return superblock::push(s, block); }

    /// A checked block of a superblock of any length; `due`: as for free_local. False if that is not this heap's: nothing has
    /// happened.
    bool free_inside(OwnerLine *s, std::uintptr_t block, bool &due) {
        const Inside inside(*this);
        const bool mine = owns(s);
        due = mine && free_local(s, block);
        return mine;
    }

    /// What its thread has gathered is given back, all of it or a chain of it.
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
        return chain.empty() ? Gathering::Left{} : chain.give(); // a visitor may have come
    }
    Gathering &gathering() { return gathering_; }

    /// What a free does whose superblock's check is due: accounts, finds the superblock its new place, and keeps the invariant. Whether the heap has
    /// given anything to the global heap since the last time, or its thread was missed (Attendance).
    CAIRN_INLINE bool check(OwnerLine *s) {
        const Inside inside(*this);
        if (owns(s)) { // a visitor may have taken it since
            contents_.check(s);
        }
        attendance.come_by();
        contents_.settle();
        const bool given = holdings().take_given_flag();
        return attendance.is_missed() || given;
    }

    /// The heap's thread ends, or its new thread is no heir: hands superblocks to the global heap. Whether some of them had to stay.
    bool hand_over(Keep keep = Keep::full) {
        const Inside inside(*this);
        return contents_.hand_over(keep);
    }

    /// The same, of a heap that no thread has and gets meanwhile.
    void hand_over_unowned() {
        const sync::Guard alone(presence_.lock());
        contents_.hand_over_unowned();
    }

    /// Of what its superblocks have touched, as accounted.
    std::size_t free_bytes() {
        const Inside inside(*this);
        return holdings().held() - holdings().used();
    }

    /// Gives up every superblock without live blocks. False if there was none.
    bool give_empty() {
        const Inside inside(*this);
        return contents_.give_empty();
    }

    Inbox &inbox() { return holdings().inbox(); }
    sync::Presence &presence() { return presence_; }
    auto &bins() { return contents_.bins(); }
    Holdings<Global> &holdings() { return contents_.holdings(); }

    /// In the child of a fork: this heap's thread is not there, what it held is nobody's.
    void reset_after_fork() {
        gathering_.publish_after_fork();
        contents_.forget();
        presence_.reset_after_fork();
    }

    ThreadHeap *next = nullptr;         ///< for the registry: all heaps
    ThreadHeap *next_unowned = nullptr; ///< and those that no thread has
    ThreadHeap *previous_unowned = nullptr;

private:
    /// A long section. In the first one after it is known that there is no heavy fence, the heap hides what it has from the
    /// fast paths: from then on visitors need none.
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
    Attendance attendance; ///< last: others write to it, the lines before are the owner's
};

} // namespace cairn
