// SPDX-License-Identifier: MIT
//
// Fullness groups: the partly filled superblocks of each size class, sorted roughly by how full they are.
//
// Adds:    the fullest superblock of a class, and the emptiest one of all classes, both in constant time.
// Needs:   OwnerLine's links and `group`.
// Keeps:   a superblock is in the group that matches its accounted blocks. Within a group the superblock that was put
//          there last comes first.
// Threads: the owner of the heap, or a thread that holds the lock of the lists.
// Cost:    a few loads and stores; a byte of each class for the emptiest superblock.
// Source:  Hoard, section 3.1. Six groups: docs/decisions/emptiness-fraction.md.
#pragma once

#include <cairn/run/segment.hpp>

#include <bit>

namespace cairn {

template <unsigned SizeClasses>
class FullnessGroups {
public:
    static constexpr unsigned groups = 6;
    constexpr FullnessGroups() = default;

    /// The group of a superblock, from 0 (less than a sixth of its blocks live) to 5 (nearly full). By comparisons:
    /// one division takes longer than all other work of insert().
    static unsigned group_of(unsigned live, unsigned capacity) {
        unsigned group = 0;
        for (unsigned g = 1; g < groups; ++g) {
            group += live * groups >= g * capacity;
        }
        return group;
    }

    /// Puts a superblock in front of the group that matches its accounted blocks.
    void insert(OwnerLine *s) {
        s->group = static_cast<std::uint8_t>(group_of(s->accounted, shared_of(s)->capacity));
        s->place = Place::partial;
        lists_[s->size_class][s->group].push_front(s);
        groups_of_[s->size_class] |= static_cast<std::uint8_t>(1u << s->group);
    }

    /// Takes a superblock out of its group.
    void remove(OwnerLine *s) {
        LineList &list = lists_[s->size_class][s->group];
        list.remove(s);
        if (list.empty()) {
            groups_of_[s->size_class] &= static_cast<std::uint8_t>(~(1u << s->group));
        }
        s->place = Place::nowhere;
    }

    /// The fullest superblock of the class, taken out; nullptr when there is none.
    OwnerLine *take_fullest(unsigned size_class) {
        const unsigned groups_there = groups_of_[size_class];
        if (groups_there == 0) {
            return nullptr;
        }
        OwnerLine *const s = lists_[size_class][log2_floor(groups_there)].front();
        remove(s);
        return s;
    }

    /// The fullest superblock of the class among those that `heap` gave to the global heap, taken out; nullptr when
    /// there is none. Looks at the first 16 superblocks of each group.
    OwnerLine *take_fullest_of(unsigned size_class, unsigned heap) {
        for (unsigned g = groups; g-- > 0;) {
            OwnerLine *s = lists_[size_class][g].front();
            for (unsigned left = longest_look_; s != nullptr && left != 0; s = s->next, --left) {
                if (s->last_heap == heap) {
                    remove(s);
                    return s;
                }
            }
        }
        return nullptr;
    }

    /// A superblock of the emptiest group below `limit` that has any, of whatever class; it stays there. nullptr when
    /// there is none.
    OwnerLine *emptiest(unsigned limit) const {
        unsigned there = 0;
        for (unsigned c = 0; c < SizeClasses && limit != 0; ++c) {
            there |= groups_of_[c];
        }
        const auto group = static_cast<unsigned>(std::countr_zero(there));
        if (group >= limit) {
            return nullptr;
        }
        unsigned c = 0;
        while ((groups_of_[c] >> group & 1) == 0) {
            ++c;
        }
        return lists_[c][group].front();
    }

private:
    static constexpr unsigned longest_look_ = 16; ///< superblocks; the search is under the global heap's lock
    static_assert(groups <= 8);

    LineList lists_[SizeClasses][groups];
    std::uint8_t groups_of_[SizeClasses]{}; ///< for each class a bit for each group that is not empty
};

} // namespace cairn
