// SPDX-License-Identifier: MIT
//
// NBmalloc's places: the flat-sets of all heaps, and the numbers of their slots.
//
// Adds:    the set of a heap, a size class and a fullness group; the slot of a location and back.
// Needs:   a mapping a heap, made at its first use, of which the kernel gives what is touched.
// Keeps:   heap 0 is the global heap. A location is the number of a slot, so that two of them and their versions fit
//          into 16 bytes; or outside(heap), the superblock's own slot, with the heap that it was in last.
// Threads: any; lock-free: of two that map a heap's sets at once one throws its mapping away.
// Errors:  a heap without memory for its sets has none (nullptr).
// Cost:    a division by a constant from a location to its slot.
// Source:  NBmalloc, section 3 and Fig. 2: a flat-set for each heap, class and group.
#pragma once

#include <cairn/family/nbmalloc_flat_set.hpp>
#include <cairn/platform/vm.hpp>

namespace cairn {

template <class Parameters>
class NbPlaces {
public:
    using Layout = NbLayout<Parameters::superblock>;
    using Reference = typename Layout::Reference;
    using Set = NbFlatSet<Reference, std::max(Parameters::flat_set, Parameters::global_flat_set)>;

    static constexpr unsigned heaps = Parameters::most_processors + 1;
    static constexpr unsigned groups = Parameters::fullness_groups;
    static constexpr unsigned classes =
        log2_exact(Parameters::largest_small) - log2_exact(Parameters::smallest) + 1;

    constexpr NbPlaces() = default;
    NbPlaces(const NbPlaces &) = delete;
    NbPlaces &operator=(const NbPlaces &) = delete;
    ~NbPlaces() {
        for (std::atomic<HeapSets *> &heap : heaps_) {
            // relaxed: whoever destroys the heap has seen to it that nobody uses it.
            if (HeapSets *const sets = heap.load(std::memory_order_relaxed)) {
                platform::vm::unmap(sets, bytes());
            }
        }
    }

    /// nullptr: there is no memory for the heap's sets.
    Set *set(unsigned heap, unsigned size_class, unsigned group) {
        // acquire: pairs with the release in map_heap.
        HeapSets *sets = heaps_[heap].load(std::memory_order_acquire);
        if (CAIRN_UNLIKELY(sets == nullptr)) {
            sets = map_heap(heaps_[heap]);
        }
        return sets == nullptr ? nullptr : &sets->sets[size_class][group];
    }

    /// How many slots of a set may be used.
    static constexpr std::size_t set_size(unsigned heap) {
        return heap == 0 ? Parameters::global_flat_set : Parameters::flat_set;
    }

    static constexpr NbLocation location(unsigned heap, unsigned size_class, unsigned group,
                                         std::uint32_t slot) {
        return 1 + ((heap * classes + size_class) * groups + group) * slots_ + slot;
    }
    static constexpr NbLocation outside(unsigned heap) { return outside_ | heap; }

    struct Where {
        unsigned heap;
        unsigned group; ///< or no_group: outside
    };
    static constexpr unsigned no_group = groups;

    static constexpr Where where(NbLocation location) {
        if ((location & outside_) != 0) {
            return {location & ~outside_, no_group};
        }
        const std::uint32_t set = (location - 1) / slots_;
        return {set / groups / classes, set % groups};
    }

    /// What nbmalloc_move.hpp needs. The location's heap has its sets.
    std::atomic<std::uint64_t> &slot(NbSuperblock &superblock, NbLocation location) {
        return (location & outside_) != 0 ? superblock.outside
                                          : set_of(location).slot((location - 1) % slots_);
    }

    void announce(NbLocation location) {
        if ((location & outside_) == 0) {
            set_of(location).announce((location - 1) % slots_);
        }
    }

    /// f(set) for each set that there is, and the location of its first slot.
    template <class F>
    void for_each_set(F f) {
        for (unsigned i = 0; i < heaps * classes * groups; ++i) {
            // relaxed: tests run alone
            if (heaps_[i / groups / classes].load(std::memory_order_relaxed) != nullptr) {
                const NbLocation first = 1 + i * slots_;
                f(set_of(first), first);
            }
        }
    }

private:
    static constexpr std::uint32_t slots_ = Set::slots;
    static constexpr NbLocation outside_ = NbLocation{1} << 31;
    static_assert(std::uint64_t{heaps} * classes * groups * slots_ < outside_, "locations have 31 bits");

    struct HeapSets {
        Set sets[classes][groups];
    };

    static std::size_t bytes() { return align_up(sizeof(HeapSets), platform::vm::page_size()); }

    Set &set_of(NbLocation location) {
        const std::uint32_t set = (location - 1) / slots_;
        // relaxed: the location came, by an exchange of an mv_info, from who had the sets.
        return heaps_[set / groups / classes]
            .load(std::memory_order_relaxed)
            ->sets[set / groups % classes][set % groups];
    }

    CAIRN_COLD static HeapSets *map_heap(std::atomic<HeapSets *> &heap) {
        auto *const fresh = static_cast<HeapSets *>(platform::vm::map(bytes()));
        HeapSets *there = nullptr;
        // release: the kernel's zeroes come before the pointer; acquire, where it fails: another's pointer.
        if (fresh == nullptr || heap.compare_exchange_strong(there, fresh, std::memory_order_release,
                                                             std::memory_order_acquire)) {
            return fresh;
        }
        platform::vm::unmap(fresh, bytes());
        return there;
    }

    std::atomic<HeapSets *> heaps_[heaps] = {};
};

} // namespace cairn
