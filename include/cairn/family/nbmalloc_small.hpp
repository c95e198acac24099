// SPDX-License-Identifier: MIT
//
// NbSmallHeap: NBmalloc's malloc and free over flat-sets of superblocks.
//
// Adds:    malloc and free of blocks of up to Parameters::largest_small bytes, getSize, statistics.
// Needs:   nothing below but the kernel; parameters as NbmallocParameters (allocators/nbmalloc.hpp) has them.
// Keeps:   each superblock is in one slot: of a flat-set of its class, or outside of all sets. Outside is where a full
//          one goes when a search meets it, and from where the free of a block brings it back.
// Threads: any; lock-free from the first call on: no thread waits for another one, wherever that has stopped. A stopped
//          thread can hide one superblock that it was about to put somewhere.
// Errors:  nullptr when the kernel has no memory.
// Cost:    malloc and free: a compare-exchange each, and a look at whether the superblock has to move.
// Source:  NBmalloc, section 3. The paper has no text of malloc and free; what is ours stands in docs/nbmalloc.md.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/heap_of_processor.hpp>
#include <cairn/family/nbmalloc_keeper.hpp>
#include <cairn/family/segments.hpp>

namespace cairn {

template <class Parameters>
class NbSmallHeap {
    using Keeper = NbKeeper<Parameters>;
    using Places = typename Keeper::Places;

public:
    using Layout = typename Places::Layout;

    static constexpr std::size_t smallest = Parameters::smallest;
    static constexpr std::size_t largest_small = Parameters::largest_small;

    void *malloc(std::size_t size) {
        const unsigned bit = class_bit_of(size);
        const unsigned heap = 1 + heap_of_processor_.number(); // 0 is the global one
        void *block = search(heap, bit, heap);                 // the processor's heap first
        if (CAIRN_UNLIKELY(block == nullptr)) {
            block = search(0, bit, heap); // then the global heap
        }
        if (CAIRN_UNLIKELY(block == nullptr)) {
            block = from_overflow(bit, heap);
        }
        return CAIRN_LIKELY(block != nullptr) ? block : from_system(bit, heap);
    }

    void free(void *p) {
        NbSuperblock &superblock = *Layout::descriptor(p);
        const unsigned bit = Keeper::bit_of(superblock);
        const auto offset = static_cast<std::uint32_t>(address_of(p) % Layout::superblock);
        const std::uint32_t capacity = Layout::capacity(bit);
        const std::uint32_t count =
            superblock.blocks.push(Layout::memory(&superblock), bit, offset >> bit, capacity);
        keeper_.review(superblock, capacity - count, capacity);
    }

    static std::size_t getSize(const void *p) {
        return std::size_t{1} << Keeper::bit_of(*Layout::descriptor(p));
    }

    void statistics(Statistics &out) const {
        out.size_classes = Places::classes;
        for (unsigned c = 0; c < Places::classes; ++c) {
            out.by_class[c].block_size = static_cast<std::uint32_t>(Parameters::smallest << c);
        }
        segments_.for_each([&](const NbSuperblock &superblock) {
            // acquire: pairs with the release in from_system.
            const unsigned bit = superblock.class_bit.load(std::memory_order_acquire);
            out.mapped += Layout::superblock;
            if (bit != 0) {
                SizeClassStatistics &one = out.by_class[bit - Keeper::first_bit];
                const std::uint32_t free = superblock.blocks.count();
                one.superblocks += 1;
                one.free_blocks += free;
                one.live_blocks += Layout::capacity(bit) - free;
                out.superblocks += 1;
                out.small_live += std::uint64_t{Layout::capacity(bit) - free} << bit;
            }
        });
        out.small_resident = out.superblocks * Layout::superblock;
        out.heaps = heap_of_processor_.count();
        out.heaps_peak = out.heaps;
        out.superblocks_fresh = out.superblocks;
    }

    /// For tests, while no other thread is in the heap: f(places, superblock) for each that is in use.
    template <class F>
    void for_each_superblock(F f) {
        segments_.for_each([&](NbSuperblock &superblock) {
            if (superblock.class_bit.load(std::memory_order_relaxed) != 0) {
                f(keeper_.places, superblock);
            }
        });
    }

private:
    static unsigned class_bit_of(std::size_t size) {
        return size <= Parameters::smallest ? Keeper::first_bit : log2_floor(size - 1) + 1;
    }

    /// Almost full superblocks first (section 3), from the group of the fullest down.
    void *search(unsigned searched, unsigned bit, unsigned heap) {
        const unsigned size_class = bit - Keeper::first_bit;
        for (unsigned group = Places::groups; group-- > 0;) {
            auto *const set = keeper_.places.set(searched, size_class, group);
            typename Places::Set::Found found;
            while (set != nullptr && set->get_any(found)) {
                NbSuperblock &superblock = *Layout::descriptor(found.reference.pointer());
                if (void *const block = take_block(superblock, bit, searched == 0 ? heap : 0)) {
                    return block;
                }
                keeper_.leave(superblock, Places::location(searched, size_class, group, found.slot),
                              searched);
            }
        }
        return nullptr;
    }

    /// Get_Block. Then the superblock goes to `adopter`, if that is a processor's heap.
    CAIRN_INLINE void *take_block(NbSuperblock &superblock, unsigned bit, unsigned adopter) {
        char *const memory = Layout::memory(&superblock);
        const auto popped = superblock.blocks.pop(memory, bit);
        if (CAIRN_UNLIKELY(popped.block == sync::IbmFreelist::none)) {
            return nullptr;
        }
        if (CAIRN_UNLIKELY(adopter != 0)) {
            keeper_.adopt(superblock, adopter);
        } else {
            const std::uint32_t capacity = Layout::capacity(bit);
            keeper_.review(superblock, capacity - popped.left, capacity);
        }
        return memory + (std::size_t{popped.block} << bit);
    }

    /// Superblocks that had no room in any set.
    void *from_overflow(unsigned bit, unsigned heap) {
        while (NbSuperblock *const superblock = keeper_.take_overflow(bit)) {
            if (void *const block =
                    take_block(*superblock, bit, keeper_.is_outside(*superblock) ? heap : 0)) {
                return block;
            }
        }
        return nullptr;
    }

    /// A new superblock, outside of all sets at first, with its first block taken.
    CAIRN_COLD void *from_system(unsigned bit, unsigned heap) {
        NbSuperblock *const fresh = segments_.take();
        if (fresh == nullptr) {
            return nullptr;
        }
        char *const memory = Layout::memory(fresh);
        fresh->blocks.set_alone(1, Layout::capacity(bit) - 1);
        fresh->outside.store(typename Layout::Reference{memory, 1}.bits(),
                             std::memory_order_relaxed); // as above
        fresh->moves.set_alone(NbMove{Places::outside(heap), 1, nb_nowhere, 0}.word());
        fresh->class_bit.store(bit, std::memory_order_release); // pairs with the load in statistics()
        keeper_.adopt(*fresh, heap);
        return memory;
    }

    Keeper keeper_;
    family::Segments<Layout> segments_;
    family::HeapOfProcessor<Parameters::processors, Parameters::most_processors> heap_of_processor_;
};

} // namespace cairn
