// SPDX-License-Identifier: MIT
//
// MichaelCredits: how malloc comes to a block: by a credit for the active superblock, or with a superblock that becomes
// the active one.
//
// Adds:    from_active, from_partial, from_new: a block, or nullptr if there is none that way.
// Needs:   places of superblocks (michael_places.hpp).
// Keeps:   a credit is a claim to one free block of the active superblock. It is taken from the heap's word first; then
//          a block is taken from the superblock's list, which has one for each credit. Who takes the last credit
//          takes as many more as there are free blocks, but most_credits at most, and makes them the heap's, or, if
//          another superblock has become active, gives them back.
// Threads: any; lock-free.
// Cost:    from_active: two compare-exchanges; with the last credit a third.
// Source:  Michael (PLDI 2004), section 3.2: MallocFromActive, UpdateActive, MallocFromPartial, MallocFromNewSB.
#pragma once

#include <cairn/family/michael_places.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/sync/block_link.hpp>

#include <algorithm>

namespace cairn {

template <class Parameters>
class MichaelCredits {
public:
    using Places = MichaelPlaces<Parameters>;
    using Layout = typename Places::Layout;

    Places places;

    /// MallocFromActive.
    CAIRN_INLINE void *from_active(unsigned heap, unsigned size_class) {
        std::atomic<std::uint64_t> &active = places.active(heap, size_class);
        std::uint64_t bits = active.load(std::memory_order_relaxed); // relaxed: the exchange decides
        Reference claim;
        do {
            claim = Reference::of_bits(bits);
            if (claim.is_null()) {
                return nullptr;
            }
            // acquire: pairs with the release in make_active(): anchor and list as they were with these credits, or
            // later; so the list has a block for this one. relaxed if it fails: a new look.
        } while (!active.compare_exchange_weak(bits, claim.tag() == 0 ? 0 : bits - 1,
                                               std::memory_order_acquire, std::memory_order_relaxed));
        const bool last = claim.tag() == 0;
        MichaelSuperblock &superblock = *Layout::descriptor(claim.pointer());
        const Row row{claim.pointer(), Places::first_bit + size_class};
        MichaelAnchor now = superblock.look();
        MichaelAnchor then;
        std::uint32_t more = 0;
        do {
            then = row.without_first(now);
            if (CAIRN_UNLIKELY(last)) {
                more = std::min(now.count, most_credits_);
                then.count -= more;
                then.state = more == 0 ? MichaelState::full : now.state;
            }
        } while (!superblock.take(now, then));
        if (CAIRN_UNLIKELY(more != 0)) {
            make_active(heap, size_class, superblock, more);
        }
        return row.at(now.first);
    }

    /// MallocFromPartial.
    CAIRN_COLD void *from_partial(unsigned heap, unsigned size_class) {
        while (MichaelSuperblock *const superblock = places.get(heap, size_class)) {
            superblock->heap.store(heap, std::memory_order_relaxed); // relaxed: see MichaelPlaces::put
            const Row row{Layout::memory(superblock), Places::first_bit + size_class};
            MichaelAnchor now = superblock->look();
            MichaelAnchor then;
            std::uint32_t more = 0;
            do {
                if (now.state == MichaelState::empty) {
                    break;
                }
                more = std::min(now.count - 1, most_credits_);
                then = row.without_first(now);
                then.count -= 1 + more;
                then.state = more == 0 ? MichaelState::full : MichaelState::active;
            } while (!superblock->give(now, then));
            if (now.state == MichaelState::empty) {
                places.retire(*superblock);
                continue;
            }
            if (more != 0) {
                make_active(heap, size_class, *superblock, more);
            }
            return row.at(now.first);
        }
        return nullptr;
    }

    /// MallocFromNewSB, with a superblock that nobody else knows: all zero, or one that was retired. nullptr: another
    /// one has become active, and this one is retired.
    CAIRN_COLD void *from_new(unsigned heap, unsigned size_class, MichaelSuperblock &superblock) {
        const Row row{Layout::memory(&superblock), Places::first_bit + size_class};
        const std::uint32_t capacity = Layout::capacity(row.bit);
        // relaxed, all of these: make_active() or retire() releases them.
        MichaelAnchor all = MichaelAnchor::of(superblock.anchor.load(std::memory_order_relaxed));
        const std::uint32_t before = superblock.class_bit.load(std::memory_order_relaxed);
        if (before != row.bit) {
            all.first = 0;
            for (std::uint32_t i = 0; before != 0 && i < capacity; ++i) { // a new one's links are right
                sync::BlockLink::set(row.at(i), i, i + 1);
            }
        }
        all.count = capacity - 1;
        all.state = MichaelState::empty;
        MichaelAnchor then = row.without_first(all);
        const std::uint32_t more = std::min(all.count, most_credits_);
        then.count -= more;
        then.state = MichaelState::active;
        superblock.heap.store(heap, std::memory_order_relaxed);
        superblock.anchor.store(then.bits(), std::memory_order_relaxed);
        superblock.class_bit.store(row.bit, std::memory_order_release); // pairs with the load in statistics()
        if (!try_active(heap, size_class, superblock, more)) {
            superblock.anchor.store(all.bits(), std::memory_order_relaxed);
            places.retire(superblock);
            return nullptr;
        }
        return row.at(all.first);
    }

private:
    using Reference = typename Layout::Reference;
    static constexpr std::uint32_t most_credits_ = Parameters::most_credits;
    static_assert(most_credits_ >= 1 && most_credits_ <= 1u << 16, "credits fit beside an address");

    /// A superblock's blocks.
    struct Row {
        char *memory;
        unsigned bit;

        char *at(std::uint32_t block) const { return memory + (std::size_t{block} << bit); }

        /// The link may be the program's data by now; then the anchor has changed.
        MichaelAnchor without_first(MichaelAnchor now) const {
            if constexpr (platform::checked) {
                if (now.first >= Layout::capacity(bit)) {
                    platform::fatal({"no block is left for a credit: ", memory});
                }
            }
            now.first = sync::BlockLink::next(at(now.first), now.first);
            now.tag += 1;
            return now;
        }
    };

    bool try_active(unsigned heap, unsigned size_class, const MichaelSuperblock &superblock,
                    std::uint32_t credits) {
        std::uint64_t none = 0;
        // release: pairs with the acquire in from_active(). relaxed if it fails: it is another superblock, for others.
        return places.active(heap, size_class)
            .compare_exchange_strong(none, Reference{Layout::memory(&superblock), credits - 1}.bits(),
                                     std::memory_order_release, std::memory_order_relaxed);
    }

    /// UpdateActive: the credits, which the anchor does not count any more, are the heap's or come back.
    void make_active(unsigned heap, unsigned size_class, MichaelSuperblock &superblock,
                     std::uint32_t credits) {
        if (try_active(heap, size_class, superblock, credits)) {
            return;
        }
        // relaxed: put() releases what follows from it.
        MichaelAnchor now = MichaelAnchor::of(superblock.anchor.load(std::memory_order_relaxed));
        MichaelAnchor then;
        do {
            then = now;
            then.count += credits;
            then.state = MichaelState::partial;
        } while (!superblock.take(now, then));
        places.put(superblock);
    }
};

} // namespace cairn
