// SPDX-License-Identifier: MIT
//
// NbKeeper: keeps each superblock of NBmalloc where its fullness wants it.
//
// Adds:    review after a malloc or free; adopt into a heap; leave all sets; those that found no room.
// Needs:   flat-sets and moves of superblocks.
// Keeps:   whoever has changed how full a superblock is, or where it is, looks again afterwards at whether it is where
//          it belongs: so whichever of a free and a move comes last sees the other, and no free block is forgotten. A
//          superblock that is outside, has a free block and finds no room in any set is on the overflow stack.
// Threads: any; lock-free: each round of a loop is there because another thread has moved the superblock.
// Errors:  a superblock that finds its set full stays where it is.
// Cost:    review: two loads and some arithmetic. A full set is looked through before it is given up.
// Source:  NBmalloc, section 3; "Full superblocks" and "Full sets" in docs/nbmalloc.md are ours.
#pragma once

#include <cairn/family/nbmalloc_groups.hpp>
#include <cairn/family/nbmalloc_places.hpp>
#include <cairn/sync/tagged_stack.hpp>

namespace cairn {

template <class Parameters>
class NbKeeper {
public:
    using Places = NbPlaces<Parameters>;
    using Layout = typename Places::Layout;
    using Mover = NbMover<Places>;
    using Groups = NbGroups<Parameters, Places>;
    using Where = typename Places::Where;

    static constexpr unsigned first_bit = log2_exact(Parameters::smallest);

    Places places;

    /// relaxed: it does not change, and who knows a block or a reference knows it.
    static unsigned bit_of(const NbSuperblock &superblock) {
        return superblock.class_bit.load(std::memory_order_relaxed);
    }

    /// After a block was taken or put back, which made `used` of `capacity`. The loads come after the change of the
    /// free list, and both are seq_cst: see settle().
    void review(NbSuperblock &superblock, std::uint32_t used, std::uint32_t capacity) {
        const auto from = static_cast<NbLocation>(superblock.moves.low());
        const auto to = static_cast<NbLocation>(superblock.moves.high());
        if (CAIRN_UNLIKELY(to != nb_nowhere || Groups::misplaced(Places::where(from), used, capacity))) {
            settle(superblock);
        }
    }

    /// A block of a superblock that is in no processor's heap yet went to a thread of `heap`.
    CAIRN_COLD void adopt(NbSuperblock &superblock, unsigned heap) {
        const NbMove now = Mover::settled(places, superblock);
        const Where at = Places::where(now.from);
        if (at.heap != heap || at.group == Places::no_group) {
            insert(superblock, now.from, {heap, Groups::group_of(used(superblock), capacity(superblock))});
        }
        settle(superblock);
    }

    /// A search found it at `from`, in a set of `heap`, without a free block.
    CAIRN_COLD void leave(NbSuperblock &superblock, NbLocation from, unsigned heap) {
        if (Mover::settled(places, superblock).from == from) {
            // Empty, or it is not at `from` any more, and the move finds that out.
            // relaxed: behind settled(), and step 2 finds out whether it is an old one.
            const auto outside =
                Layout::Reference::of_bits(superblock.outside.load(std::memory_order_relaxed));
            Mover::move(places, superblock, from, Places::outside(heap), outside.tag());
        }
        settle(superblock);
    }

    bool is_outside(const NbSuperblock &superblock) const {
        return Places::where(static_cast<NbLocation>(superblock.moves.low())).group == Places::no_group;
    }

    /// A superblock that had free blocks and no place: it may have one by now, and no free blocks. nullptr: none.
    NbSuperblock *take_overflow(unsigned bit) {
        char *const memory = overflow_[bit - first_bit].pop();
        if (memory == nullptr) {
            return nullptr;
        }
        NbSuperblock *const superblock = Layout::descriptor(memory);
        // Before the caller looks for free blocks: who frees one later than that puts it on the stack again. Pairs with
        // the exchange in enlist(), which comes after the block is in the free list: one of the two exchanges sees the
        // other. Release: our read of its link comes before the next push's write.
        superblock->listed.exchange(false, std::memory_order_acq_rel);
        return superblock;
    }

private:
    static std::uint32_t capacity(const NbSuperblock &superblock) {
        return Layout::capacity(bit_of(superblock));
    }
    static std::uint32_t used(const NbSuperblock &superblock) {
        return capacity(superblock) - superblock.blocks.count();
    }

    /// Moves it to where it belongs. The count is read after mv_info: who frees a block changes the count first and
    /// looks at mv_info then. Both sides are seq_cst, so one of them sees what the other has done.
    CAIRN_COLD void settle(NbSuperblock &superblock) {
        for (;;) {
            const NbMove now = Mover::settled(places, superblock);
            const Where at = Places::where(now.from);
            const std::uint32_t in_use = used(superblock);
            if (!Groups::misplaced(at, in_use, capacity(superblock))) {
                return;
            }
            const Where target = Groups::target(at, in_use, capacity(superblock));
            if (insert(superblock, now.from, target) != NbMoved::place_is_taken) {
                continue;
            }
            if (at.group != Places::no_group) {
                return; // a group too high or too low: it can be found there
            }
            if (insert_anywhere(superblock, now.from, target.heap) == NbMoved::place_is_taken) {
                enlist(superblock);
                return;
            }
        }
    }

    NbMoved insert(NbSuperblock &superblock, NbLocation from, Where target) {
        const unsigned size_class = bit_of(superblock) - first_bit;
        auto *const set = places.set(target.heap, size_class, target.group);
        if (set == nullptr) {
            return NbMoved::place_is_taken;
        }
        return set->insert(Places::set_size(target.heap), [&](std::uint32_t slot, std::uint64_t version) {
            return Mover::move(places, superblock, from,
                               Places::location(target.heap, size_class, target.group, slot), version);
        });
    }

    NbMoved insert_anywhere(NbSuperblock &superblock, NbLocation from, unsigned heap) {
        for (const unsigned h : {heap, 0u}) {
            for (unsigned group = Places::groups; group-- > 0;) {
                const NbMoved result = insert(superblock, from, {h, group});
                if (result != NbMoved::place_is_taken) {
                    return result;
                }
            }
        }
        return NbMoved::place_is_taken;
    }

    void enlist(NbSuperblock &superblock) {
        // acq_rel: pairs with the exchange in take_overflow(), either way.
        if (!superblock.listed.exchange(true, std::memory_order_acq_rel)) {
            overflow_[bit_of(superblock) - first_bit].push(Layout::memory(&superblock));
        }
    }

    static std::atomic<char *> &link_of(char *memory) { return Layout::descriptor(memory)->next; }

    sync::TaggedStack<char, Layout::superblock, link_of> overflow_[Places::classes];
};

} // namespace cairn
