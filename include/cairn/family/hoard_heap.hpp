// SPDX-License-Identifier: MIT
//
// HoardHeap: one of Hoard's heaps: superblocks, their accounts, and the emptiness threshold.
//
// Adds:    blocks out of the heap's own superblocks, and back; superblocks in and out.
// Needs:   Design: what hoard.hpp makes of its parameters.
// Keeps:   u is the sum of s.u of its superblocks, a that of the room for blocks in them (check() compares). Both are
//          in bytes of whole blocks: what the program asked for is rounded up to the size class, and a superblock's
//          header and rest are in neither, so that a full superblock has u = a.
// Threads: who holds `lock`: the caller, everywhere but in report() and check().
// Cost:    constant.
// Source:  Hoard, section 3 (usage statistics), section 3.1 (threshold), Figure 2. u counts block sizes in malloc as
//          in free, where Figure 2 has sz in one and the block size in the other: Wen and Deng, section 2.2.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/hoard_groups.hpp>

namespace cairn {

/// What a heap has in use and what it holds, in bytes; and its superblocks.
struct HoardAccount {
    std::size_t u = 0;
    std::size_t a = 0;
    std::size_t superblocks = 0;
};

template <class Design>
class alignas(platform::cache_line) HoardHeap : public HoardOwner {
public:
    using Superblock = typename Design::Superblock;
    using Groups = HoardGroups<Superblock, Design::Classes::count, Design::groups>;

    explicit constexpr HoardHeap(sync::Rank rank) : HoardOwner(rank) {}

    /// A superblock of the class that has a free block (malloc, line 4).
    Superblock *fullest_locked(unsigned size_class) const { return groups_.fullest(size_class); }

    /// A block of one of this heap's superblocks (malloc, lines 15, 16 and 18).
    void *malloc_locked(Superblock *s) {
        void *const block = s->pop();
        account_.u += s->block_size;
        groups_.refile(s);
        return block;
    }

    /// free, lines 5 to 7.
    void free_locked(Superblock *s, void *p) {
        s->push(p);
        account_.u -= s->block_size;
        groups_.to_front(s);
    }

    /// More than f is free, and more than K superblocks' worth.
    bool too_empty_locked() const {
        return account_.u + Design::slack < account_.a &&
               account_.u * Design::denominator < account_.a * (Design::denominator - Design::numerator);
    }

    /// For builds with assertions: section 3.1's invariant, with "or" (see docs/family.md).
    void check_invariant_locked() const {
        const std::size_t a = account_.a;
        const std::size_t u = account_.u;
        const bool few_free = u + Design::slack >= a;
        const bool full_enough = u * Design::denominator >= a * (Design::denominator - Design::numerator);
        if (u > a || !(few_free || full_enough)) {
            platform::fatal({"a heap of ", std::uint64_t{a}, " bytes with ", std::uint64_t{u},
                             " in use is too empty after a free"});
        }
    }

    /// A superblock that is at least f empty: one of the emptiest, if possible not of the class `spared`. There is one
    /// whenever the heap is too empty: were all fuller than 1 - f, so would be the heap.
    Superblock *mostly_empty_locked(unsigned spared) {
        return groups_.emptiest(Design::last_movable_group, spared);
    }

    /// An empty superblock, if possible not of the class `spared`.
    Superblock *empty_locked(unsigned spared) { return groups_.emptiest(Groups::empty, spared); }

    /// The accounts' part of a transfer (malloc, lines 11 to 14; free, lines 11 and 12).
    void take_out_locked(Superblock *s) {
        groups_.remove(s);
        account_.u -= s->used();
        account_.a -= s->room();
        --account_.superblocks;
    }
    void take_in_locked(Superblock *s) {
        s->owner.store(this, std::memory_order_relaxed); // see HoardHeader::owner
        groups_.insert(s);
        account_.u += s->used();
        account_.a += s->room();
        ++account_.superblocks;
    }

    HoardAccount account() {
        const sync::Guard hold(lock);
        return account_;
    }

    /// Adds the heap's superblocks and blocks to `out`.
    void report(Statistics &out) {
        const sync::Guard hold(lock);
        out.small_live += account_.u;
        out.superblocks += account_.superblocks;
        groups_.for_each([&](const Superblock &s) {
            SizeClassStatistics &row = out.by_class[s.size_class];
            ++row.superblocks;
            row.live_blocks += s.live;
            row.free_blocks += std::uint64_t{s.carved} - s.live;
        });
    }

    /// Whether the accounts are what the superblocks say, each of them in its group and owned by this heap.
    bool check() {
        const sync::Guard hold(lock);
        HoardAccount found;
        bool sound = true;
        groups_.for_each([&](const Superblock &s) {
            found.u += s.used();
            found.a += s.room();
            ++found.superblocks;
            sound =
                sound && s.group == Groups::group_of(&s) && s.owner.load(std::memory_order_relaxed) == this;
        });
        return sound && found.u == account_.u && found.a == account_.a &&
               found.superblocks == account_.superblocks;
    }

private:
    HoardAccount account_;
    Groups groups_;
};

} // namespace cairn
