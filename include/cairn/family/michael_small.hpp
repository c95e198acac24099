// SPDX-License-Identifier: MIT
//
// MichaelSmallHeap: Michael's malloc and free over superblocks with anchors.
//
// Adds:    malloc and free of blocks of up to Parameters::largest_small bytes, getSize, statistics.
// Needs:   Supply: take() gives the descriptor of a superblock that was never used, all zero, or nullptr; for_each.
//          Parameters as MichaelParameters (allocators/michael.hpp) has them.
// Keeps:   a block is taken by a credit first and from the list then, so who has a credit finds a block. The states of
//          a superblock are those of michael_superblock.hpp.
// Threads: any; lock-free from the first call on: a loop is repeated only because another thread has changed the word.
//          A stopped thread hides the superblock that it holds, and keeps the credits and the block that it has taken.
// Errors:  nullptr when there is no memory.
// Cost:    malloc: two compare-exchanges, on the heap's word and on the superblock's; free: one.
// Source:  Michael (PLDI 2004), section 3.2. What differs and what is ours: docs/family.md.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/heap_of_processor.hpp>
#include <cairn/family/michael_credits.hpp>
#include <cairn/family/segments.hpp>
#include <cairn/platform/fatal.hpp>

#include <algorithm>

namespace cairn {

template <class Parameters, class Supply = family::Segments<typename MichaelPlaces<Parameters>::Layout>>
class MichaelSmallHeap {
public:
    using Places = MichaelPlaces<Parameters>;
    using Layout = typename Places::Layout;
    using Classes = typename Places::Classes;

    static constexpr std::size_t smallest = Parameters::smallest;
    static constexpr std::size_t largest_small = Parameters::largest_small;

    void *malloc(std::size_t size) { return malloc_in(heap_of_processor_.number(), Classes::class_of(size)); }

    /// The same in the heap of that number.
    CAIRN_INLINE void *malloc_in(unsigned heap, unsigned size_class) {
        for (;;) {
            if (void *const block = from_known(heap, size_class)) {
                return block;
            }
            MichaelSuperblock *const fresh = new_superblock();
            if (fresh == nullptr) {
                return from_known(heap, size_class); // another thread may have found one meanwhile
            }
            if (void *const block = credits_.from_new(heap, size_class, *fresh)) {
                return block;
            }
        }
    }

    void free(void *p) {
        MichaelSuperblock &superblock = *Layout::descriptor(p);
        const unsigned size_class = places().class_of(superblock);
        // relaxed: where the superblock may be if it is empty now. After the exchange it may be another class's.
        const unsigned heap = superblock.heap.load(std::memory_order_relaxed);
        const unsigned bit = Places::first_bit + size_class;
        char *const memory = Layout::memory(&superblock);
        const auto block = static_cast<std::uint32_t>(address_of(p) % Layout::superblock) >> bit;
        const std::uint32_t others = Layout::capacity(bit) - 1;
        MichaelAnchor now = superblock.look();
        MichaelAnchor then;
        do {
            check_live(now, others, p);
            sync::BlockLink::set(memory + (std::size_t{block} << bit), block,
                                 now.first); // give() releases it
            then = now;
            then.first = block;
            if (CAIRN_UNLIKELY(now.count == others)) { // and nobody has a credit
                then.state = MichaelState::empty;
            } else {
                then.count += 1;
                then.state = now.state == MichaelState::full ? MichaelState::partial : now.state;
            }
        } while (!superblock.give(now, then));
        if (CAIRN_UNLIKELY(then.state == MichaelState::empty)) {
            places().drop(superblock, heap, size_class);
        } else if (CAIRN_UNLIKELY(now.state == MichaelState::full)) {
            places().put(superblock);
        }
    }

    static std::size_t getSize(const void *p) { return smallest << Places::class_of(*Layout::descriptor(p)); }

    void statistics(Statistics &out) const {
        out.size_classes = Classes::count;
        for (unsigned c = 0; c < Classes::count; ++c) {
            out.by_class[c].block_size = static_cast<std::uint32_t>(Classes::size_of(c));
        }
        supply_.for_each([&](const MichaelSuperblock &superblock) {
            // acquire: pairs with the release in from_new().
            const unsigned bit = superblock.class_bit.load(std::memory_order_acquire);
            const MichaelAnchor now = superblock.look();
            out.mapped += Layout::superblock;
            out.superblocks_fresh += bit != 0 ? 1 : 0;
            if (bit != 0 && now.state != MichaelState::empty) {
                SizeClassStatistics &row = out.by_class[bit - Places::first_bit];
                row.superblocks += 1;
                row.free_blocks += now.count;
                out.superblocks += 1;
            }
        });
        for (unsigned c = 0; c < Classes::count; ++c) {
            SizeClassStatistics &row = out.by_class[c];
            for (unsigned h = 0; h < Places::heaps; ++h) {
                const auto active = credits_.places.active_now(h, c);
                row.free_blocks += active.is_null() ? 0 : active.tag() + 1;
            }
            // While other threads are at work the words are not of one moment.
            const std::uint64_t all =
                std::uint64_t{row.superblocks} * Layout::capacity(Places::first_bit + c);
            row.free_blocks = std::min(row.free_blocks, all);
            row.live_blocks = all - row.free_blocks;
            out.small_live += row.live_blocks << (Places::first_bit + c);
        }
        out.small_resident = out.superblocks_fresh * Layout::superblock;
        out.free_dirty = (out.superblocks_fresh - out.superblocks) * Layout::superblock;
        out.heaps = heap_of_processor_.count();
        out.heaps_peak = out.heaps;
    }

    Places &places() { return credits_.places; }

    /// For tests, while no other thread is in the heap: f(superblock) for each that was ever used.
    template <class F>
    void for_each_superblock(F f) {
        supply_.for_each([&](MichaelSuperblock &superblock) {
            if (superblock.class_bit.load(std::memory_order_relaxed) != 0) {
                f(superblock);
            }
        });
    }

private:
    CAIRN_INLINE void *from_known(unsigned heap, unsigned size_class) {
        void *const block = credits_.from_active(heap, size_class);
        return CAIRN_LIKELY(block != nullptr) ? block : credits_.from_partial(heap, size_class);
    }

    CAIRN_COLD MichaelSuperblock *new_superblock() {
        MichaelSuperblock *superblock = places().revive();
        if (superblock == nullptr) {
            superblock = supply_.take();
        }
        if (superblock == nullptr) {
            places().drop_all();
            superblock = places().revive();
        }
        return superblock;
    }

    static void check_live(const MichaelAnchor &now, std::uint32_t others, const void *p) {
        if constexpr (platform::checked) {
            if (now.state == MichaelState::empty ||
                (now.count == others && now.state != MichaelState::partial)) {
                platform::fatal({"more blocks were freed than there are: ", p});
            }
        }
    }

    MichaelCredits<Parameters> credits_;
    Supply supply_;
    family::HeapOfProcessor<Parameters::processors, Parameters::most_processors> heap_of_processor_;
};

} // namespace cairn
