// SPDX-License-Identifier: MIT
//
// The superblocks of one size class in one heap, from the most full to the least.
//
// Adds:    a doubly linked list in order; the first superblock that has space.
// Needs:   superblocks with next, previous, used and full().
// Keeps:   `used` never rises from one to the next. Full ones come first, so that the scan of malloc's line 6, from
//          most full to least, ends at `open`, without a walk.
// Threads: under the lock of the heap.
// Cost:    constant for malloc. A free walks past the superblocks that became the fuller ones by it.
// Source:  Wen and Deng, section 2.1: lists ordered by available space.
#pragma once

#include <cairn/core/bits.hpp>

namespace cairn::wen_deng {

template <class Superblock>
class OrderedList {
public:
    Superblock *first() const { return first_; }
    Superblock *last() const { return last_; }
    Superblock *open() const { return open_; } ///< the fullest that has space

    void insert(Superblock &s) {
        Superblock *before = last_; // what comes in is mostly empty
        while (before != nullptr && before->used < s.used) {
            before = before->previous;
        }
        link_behind(before, s);
        if (!s.full() && s.next == open_) {
            open_ = &s;
        }
    }

    void remove(Superblock &s) {
        if (open_ == &s) {
            open_ = s.next;
        }
        unlink(s);
    }

    /// A block of `open` was taken.
    void became_fuller(Superblock &s) {
        if (s.full()) {
            open_ = s.next;
        }
    }

    /// A block was put back into s.
    void became_emptier(Superblock &s, bool was_full) {
        if (was_full) { // no other one with space is fuller
            Superblock *const before = open_ != nullptr ? open_->previous : last_;
            if (before != &s) {
                unlink(s);
                link_behind(before, s);
            }
            open_ = &s;
            return;
        }
        Superblock *fuller = nullptr;
        for (Superblock *at = s.next; at != nullptr && at->used > s.used; at = at->next) {
            fuller = at;
        }
        if (fuller != nullptr) {
            remove(s);
            link_behind(fuller, s);
        }
    }

    bool in_order() const {
        bool ordered = true;
        const Superblock *with_space = nullptr;
        for (const Superblock *at = first_; at != nullptr; at = at->next) {
            ordered = ordered && (at->previous == nullptr ? at == first_ : at->previous->used >= at->used) &&
                      (at->next != nullptr || at == last_);
            with_space = with_space == nullptr && !at->full() ? at : with_space;
        }
        return ordered && with_space == open_;
    }

private:
    /// nullptr: to the front.
    void link_behind(Superblock *before, Superblock &s) {
        s.previous = before;
        s.next = before != nullptr ? before->next : first_;
        (s.previous != nullptr ? s.previous->next : first_) = &s;
        (s.next != nullptr ? s.next->previous : last_) = &s;
    }

    void unlink(Superblock &s) {
        (s.previous != nullptr ? s.previous->next : first_) = s.next;
        (s.next != nullptr ? s.next->previous : last_) = s.previous;
    }

    Superblock *first_ = nullptr;
    Superblock *last_ = nullptr;
    Superblock *open_ = nullptr;
};

} // namespace cairn::wen_deng
