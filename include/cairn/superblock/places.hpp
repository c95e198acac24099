// SPDX-License-Identifier: MIT
//
// Places: the lists in which a heap keeps the superblocks that are not in its bins.
//
// Adds:    put, take_out, and the two choices of the discipline: the fullest superblock to allocate from, the
//          emptiest one to give away.
// Needs:   OwnerLine's links and `place`.
// Keeps:   each superblock is in exactly one list, the one that its `place` names.
// Threads: the owner of the heap, or a thread that holds the lock of the lists.
// Cost:    a few loads and stores.
// Source:  Hoard, section 3.1.
#pragma once

#include <cairn/superblock/full_superblocks.hpp>
#include <cairn/superblock/fullness_groups.hpp>
#include <cairn/superblock/superblock.hpp>

namespace cairn {

template <unsigned SizeClasses>
class Places {
public:
    static constexpr unsigned groups = FullnessGroups<SizeClasses>::groups;
    constexpr Places() = default;

    /// Puts a superblock into the list that matches its accounted blocks.
    CAIRN_INLINE void put(OwnerLine *s) {
        if (s->accounted == 0) {
            s->place = Place::empty;
            empty_.push_front(s);
        } else if (s->accounted == shared_of(s)->capacity) {
            full_.insert(s);
        } else {
            groups_.insert(s);
        }
    }

    /// Takes a superblock out of the list that it is in, if any.
    CAIRN_INLINE void take_out(OwnerLine *s) {
        switch (s->place) {
        case Place::partial:
            groups_.remove(s);
            break;
        case Place::full:
            full_.remove(s);
            break;
        case Place::empty:
            empty_.remove(s);
            break;
        case Place::current:
        case Place::nowhere:
        case Place::orphan:
            break;
        }
        s->place = Place::nowhere;
    }

    /// The fullest partly filled superblock of the class, taken out; nullptr when there is none.
    OwnerLine *take_fullest(unsigned size_class) { return groups_.take_fullest(size_class); }
    /// The fullest of those that `heap` gave to the global heap (FullnessGroups::take_fullest_of).
    OwnerLine *take_fullest_of(unsigned size_class, unsigned heap) {
        return groups_.take_fullest_of(size_class, heap);
    }
    /// A superblock without live blocks, not taken out; nullptr when there is none.
    OwnerLine *empty() const { return empty_.front(); }

    /// A superblock without live blocks, not taken out: one of the class among the first eight; else any of `slots`
    /// slots among these; nullptr when there is none.
    OwnerLine *empty_for(unsigned size_class, unsigned slots) const {
        OwnerLine *any = nullptr;
        OwnerLine *s = empty_.front();
        for (unsigned left = longest_look_; s != nullptr && left != 0; s = s->next, --left) {
            if (s->size_class == size_class) {
                return s;
            }
            any = any == nullptr && s->slots == slots ? s : any;
        }
        return any;
    }

    /// One of the next `looks` full superblocks of the class for which `has_room` holds, taken out; nullptr when there
    /// is none.
    template <class Predicate>
    OwnerLine *take_full(unsigned size_class, unsigned looks, Predicate &&has_room) {
        OwnerLine *const s = full_.find(size_class, looks, has_room);
        if (s != nullptr) {
            take_out(s);
        }
        return s;
    }

    /// take_full() looks at none of those that are full now (FullSuperblocks::set_aside).
    void set_full_aside(unsigned size_class) { full_.set_aside(size_class); }

    /// A superblock without live blocks, else one of the emptiest group below `limit`; not taken out. nullptr when
    /// there is none.
    OwnerLine *emptiest(unsigned limit) const {
        OwnerLine *const s = empty_.front();
        return s != nullptr ? s : groups_.emptiest(limit);
    }

    /// Any superblock, not taken out; nullptr when there is none.
    OwnerLine *any() const {
        OwnerLine *const s = emptiest(groups);
        return s != nullptr ? s : full_.any();
    }

private:
    static constexpr unsigned longest_look_ = 8; ///< superblocks; part of a slow path

    FullSuperblocks<SizeClasses> full_;
    LineList empty_;
    FullnessGroups<SizeClasses> groups_;
};

} // namespace cairn
