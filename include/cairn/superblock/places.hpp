// SPDX-License-Identifier: MIT
//
// Places: the lists in which a heap keeps the superblocks that none of its bins allocates from.
//
// Adds:    put (into the list that fits), take out, and the two choices that the discipline makes: the
//          fullest to allocate from, the emptiest to give away.
// Needs:   the OwnerLine's links and `place`.
// Keeps:   each superblock in exactly one list, the one that its `place` names.
// Threads: the owner of the heap, or who holds its lock.
// Cost:    a few loads and stores.
// Source:  Hoard, section 3.1.
#pragma once

#include <cairn/superblock/fullness_groups.hpp>
#include <cairn/superblock/superblock.hpp>

namespace cairn {

template <unsigned SizeClasses>
class Places {
public:
    static constexpr unsigned groups = FullnessGroups<SizeClasses>::groups;
    constexpr Places() = default;

    CAIRN_INLINE void put(OwnerLine *s) {
        if (s->accounted == 0) {
            s->place = Place::empty;
            empty_.push_front(s);
        } else if (s->accounted == shared_of(s)->capacity) {
            s->place = Place::full;
            full_.push_front(s);
        } else {
            groups_.insert(s);
        }
    }

    /// Out of whatever list it is in.
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

    OwnerLine *take_fullest(unsigned size_class) { return groups_.take_fullest(size_class); }
    OwnerLine *take_fullest_of(unsigned size_class, unsigned heap) {
        return groups_.take_fullest_of(size_class, heap);
    }
    OwnerLine *empty() const { return empty_.front(); }

    /// An empty one that is cut for the class already, as far as a short look shows; else any of so many slots.
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

    /// A superblock taken for full for which `has_room` holds, taken out; a walk.
    template <class Predicate>
    OwnerLine *take_full(Predicate &&has_room) {
        OwnerLine *s = full_.front();
        while (s != nullptr && !has_room(s)) {
            s = s->next;
        }
        if (s != nullptr) {
            take_out(s);
        }
        return s;
    }

    /// An empty superblock, else one of the emptiest group below `limit`; not taken out.
    OwnerLine *emptiest(unsigned limit) const {
        OwnerLine *const s = empty_.front();
        return s != nullptr ? s : groups_.emptiest(limit);
    }

    /// Any superblock at all; not taken out.
    OwnerLine *any() const {
        OwnerLine *const s = emptiest(groups);
        return s != nullptr ? s : full_.front();
    }

private:
    static constexpr unsigned longest_look_ = 8;

    LineList full_;
    LineList empty_;
    FullnessGroups<SizeClasses> groups_;
};

} // namespace cairn
