// SPDX-License-Identifier: MIT
//
// Full superblocks: those whose blocks are all live as far as the owner has counted. Frees since the last check of each
// are not counted, so one in a few has free blocks.
//
// Adds:    find, which looks at some superblocks of a class in turn; set_aside, after which find looks at none of those
//          that are there; any.
// Needs:   OwnerLine's links.
// Keeps:   a ring for each class: a superblock that was just put there, or looked at in vain, is looked at last; and a
//          ring of those that were set aside.
// Threads: the owner of the heap, or a thread that holds the lock of the lists.
// Cost:    insert, remove and set_aside: a few loads and stores. find: a cache line for each superblock that it looks
//          at.
// Source:  docs/decisions/uncounted-frees-before-growth.md.
#pragma once

#include <cairn/run/descriptor.hpp>

#include <utility>

namespace cairn {

template <unsigned SizeClasses>
class FullSuperblocks {
public:
    constexpr FullSuperblocks() = default;

    void insert(OwnerLine *s) {
        s->place = Place::full;
        s->next = s->previous = s;
        join(first_[s->size_class], s);
    }

    void remove(OwnerLine *s) {
        leave(first_[s->size_class], s);
        leave(aside_[s->size_class], s);
        s->previous->next = s->next;
        s->next->previous = s->previous;
        s->place = Place::nowhere;
    }

    /// The owner is told of the next free in each superblock of the class: none needs another look.
    void set_aside(unsigned size_class) {
        if (OwnerLine *const first = std::exchange(first_[size_class], nullptr)) {
            join(aside_[size_class], first);
        }
    }

    /// One of the next `looks` superblocks of the class for which has_room holds; not taken out. nullptr when there is
    /// none.
    template <class Predicate>
    OwnerLine *find(unsigned size_class, unsigned looks, Predicate &&has_room) {
        OwnerLine *&first = first_[size_class];
        OwnerLine *const begin = first;
        for (; first != nullptr && looks != 0; --looks) {
            if (has_room(first)) {
                return first;
            }
            first = first->next;
            if (first == begin) { // once round
                break;
            }
        }
        return nullptr;
    }

    /// Any superblock, not taken out; nullptr when there is none.
    OwnerLine *any() const {
        for (unsigned c = 0; c < SizeClasses; ++c) {
            if (OwnerLine *const s = first_[c] != nullptr ? first_[c] : aside_[c]) {
                return s;
            }
        }
        return nullptr;
    }

private:
    /// Puts a ring behind the last of another, which may be empty.
    static void join(OwnerLine *&first, OwnerLine *ring) {
        if (first == nullptr) {
            first = ring;
            return;
        }
        OwnerLine *const last = ring->previous;
        ring->previous = first->previous;
        first->previous->next = ring;
        last->next = first;
        first->previous = last;
    }

    /// The superblock is not the first one from now on.
    static void leave(OwnerLine *&first, const OwnerLine *s) {
        first = first != s ? first : s->next;
        first = first != s ? first : nullptr; // it was the only one
    }

    OwnerLine *first_[SizeClasses]{}; ///< of each ring the superblock that is looked at next
    OwnerLine *aside_[SizeClasses]{}; ///< of each ring of those set aside any
};

} // namespace cairn
