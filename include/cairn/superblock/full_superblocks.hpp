// SPDX-License-Identifier: MIT
//
// Full superblocks: those whose blocks are all live as far as the owner has counted. Frees since the last check of each
// are not counted, so one in a few has free blocks.
//
// Adds:    find, which looks at some superblocks of a class in turn; any.
// Needs:   OwnerLine's links.
// Keeps:   a ring for each class: a superblock that was just put there, or looked at in vain, is looked at last.
// Threads: the owner of the heap, or a thread that holds the lock of the lists.
// Cost:    insert and remove: a few loads and stores. find: a cache line for each superblock that it looks at.
// Source:  docs/decisions/uncounted-frees-before-growth.md.
#pragma once

#include <cairn/run/descriptor.hpp>

namespace cairn {

template <unsigned SizeClasses>
class FullSuperblocks {
public:
    constexpr FullSuperblocks() = default;

    void insert(OwnerLine *s) {
        s->place = Place::full;
        OwnerLine *&first = first_[s->size_class];
        if (first == nullptr) {
            first = s->next = s->previous = s;
            return;
        }
        s->next = first;
        s->previous = first->previous;
        s->previous->next = s;
        first->previous = s;
    }

    void remove(OwnerLine *s) {
        OwnerLine *&first = first_[s->size_class];
        first = first != s ? first : s->next;
        first = first != s ? first : nullptr; // it was the only one
        s->previous->next = s->next;
        s->next->previous = s->previous;
        s->place = Place::nowhere;
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
        for (OwnerLine *const s : first_) {
            if (s != nullptr) {
                return s;
            }
        }
        return nullptr;
    }

private:
    OwnerLine *first_[SizeClasses]{}; ///< of each ring the superblock that is looked at next
};

} // namespace cairn
