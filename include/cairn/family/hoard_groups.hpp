// SPDX-License-Identifier: MIT
//
// HoardGroups: the superblocks of one heap, by size class and by how full they are.
//
// Adds:    the fullest superblock of a class that has a free block, and the emptiest of all, in constant time.
// Needs:   superblocks that are in one HoardGroups at a time.
// Keeps:   group 0: empty. Group g of 1 to Groups: more than (g - 1)/Groups and at most g/Groups of the
//          blocks live, but not all. Group Groups + 1: full. In each list the superblock that was freed into last is
//          first (move to front).
// Threads: who holds the heap's lock.
// Cost:    a few loads and stores; nothing where a superblock stays in its place.
// Source:  Hoard, section 3.1: fullness groups, doubly linked; move to front.
#pragma once

#include <cairn/family/hoard_superblock.hpp>

namespace cairn {

/// A ring of superblocks: the front is known, the back is before it.
template <class Superblock>
class HoardList {
public:
    Superblock *front() const { return first_; }
    Superblock *back() const { return first_ == nullptr ? nullptr : first_->previous; }

    void push_front(Superblock *s) {
        if (first_ == nullptr) {
            s->next = s->previous = s;
        } else {
            s->next = first_;
            s->previous = first_->previous;
            s->previous->next = s;
            s->next->previous = s;
        }
        first_ = s;
    }

    void remove(Superblock *s) {
        if (s->next == s) {
            first_ = nullptr;
            return;
        }
        s->previous->next = s->next;
        s->next->previous = s->previous;
        first_ = first_ == s ? s->next : first_;
    }

    template <class F>
    void for_each(F f) const {
        if (const Superblock *s = first_; s != nullptr) {
            do {
                f(*s);
                s = s->next;
            } while (s != first_);
        }
    }

private:
    Superblock *first_ = nullptr;
};

template <class Superblock, unsigned Classes, unsigned Groups>
class HoardGroups {
public:
    static constexpr unsigned empty = 0;
    static constexpr unsigned full = Groups + 1;
    static_assert(Classes <= 64, "a word tells which classes have superblocks in a group");

    static unsigned group_of(const Superblock *s) {
        return s->live == s->capacity ? full : (s->live * Groups + s->capacity - 1) / s->capacity;
    }

    void insert(Superblock *s) {
        s->group = static_cast<std::uint8_t>(group_of(s));
        lists_[s->size_class][s->group].push_front(s);
        occupied_[s->group] |= bit(s);
    }

    void remove(Superblock *s) {
        List &list = lists_[s->size_class][s->group];
        list.remove(s);
        if (list.front() == nullptr) {
            occupied_[s->group] &= ~bit(s);
        }
    }

    /// After a block was taken: a new group, maybe.
    void refile(Superblock *s) {
        if (group_of(s) != s->group) {
            remove(s);
            insert(s);
        }
    }

    /// After a block was freed: the front of its group.
    void to_front(Superblock *s) {
        if (group_of(s) != s->group || lists_[s->size_class][s->group].front() != s) {
            remove(s);
            insert(s);
        }
    }

    /// One of a class with a free block: the fullest, in groups; nullptr when there is none.
    Superblock *fullest(unsigned size_class) const {
        for (unsigned g = full; g-- > empty;) {
            if (Superblock *const s = lists_[size_class][g].front()) {
                return s;
            }
        }
        return nullptr;
    }

    /// One of the emptiest group up to `last` that has any: of the next class in turn, if possible not `spared`, the
    /// one that was freed into the longest time ago.
    Superblock *emptiest(unsigned last, unsigned spared) {
        for (unsigned g = empty; g <= last; ++g) {
            if (occupied_[g] != 0) {
                const std::uint64_t others = occupied_[g] & ~(std::uint64_t{1} << spared);
                const std::uint64_t classes = others != 0 ? others : occupied_[g];
                const std::uint64_t later = classes >> turn_ << turn_;
                const unsigned c = log2_exact(later != 0 ? later : classes);
                turn_ = (c + 1) % Classes;
                return lists_[c][g].back();
            }
        }
        return nullptr;
    }

    template <class F>
    void for_each(F f) const {
        for (const auto &of_class : lists_) {
            for (const List &list : of_class) {
                list.for_each(f);
            }
        }
    }

private:
    using List = HoardList<Superblock>;

    static std::uint64_t bit(const Superblock *s) { return std::uint64_t{1} << s->size_class; }

    List lists_[Classes][full + 1];
    std::uint64_t occupied_[full + 1] = {}; ///< by group: a bit for each class that has superblocks in it
    unsigned turn_ = 0;                     ///< the class that emptiest() looks at first
};

} // namespace cairn
