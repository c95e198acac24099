// SPDX-License-Identifier: MIT
//
// RandomPlacesHeap: small blocks at random places among twice as many, clean whenever they are free.
//
// Adds:    malloc, memalign, malloc_zeroed, reallocate, getSize (what was asked for last), free; begin_in_child, after
//          a fork. Found are frees of what is no block, or no more, writes behind a block's end when it is freed, and
//          into freed blocks when they are handed out; what is not freed when the heap is destroyed, if the policy asks
//          for leaks.
// Needs:   a heap for larger blocks, which finds the same for its own: what lies in no region goes there. Where memory
//          is out its let_held_go() is called, if it has one. Classes of aligned sizes (aligns_blocks), of less than 2
//          GiB.
// Keeps:   at most half of a class's blocks are live, while there is memory. A freed block is zeroed, and not handed
//          out before Held more were freed, if memory lasts. Nothing that the heap knows lies in a block or next to
//          one.
// Threads: one at a time.
// Errors:  nullptr when out of memory; never for a block that gets shorter.
// Cost:    two looks for a free block in the mean, a binary search a free, zeroing and looking at every byte; pages in
//          random use, so up to several times the memory.
// Source:  Berger and Zorn, "DieHard", PLDI 2006: random places among M times as many; Novark and Berger, "DieHarder",
//          CCS 2010: what is freed is destroyed.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/debug/patterns.hpp>
#include <cairn/debug/quarantine.hpp>
#include <cairn/debug/random_class.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/sizeclass/classes.hpp>

#include <unistd.h>

namespace cairn {

template <class Super, SizeClasses Classes, FaultPolicy Policy = StopAtFault, std::size_t Held = 1024>
    requires(SizedHeap<Super> && AlignedHeap<Super> && ReallocatingHeap<Super> && ZeroingHeap<Super> &&
             Held > 0)
class RandomPlacesHeap {
    using Region = debug::RandomRegion;

public:
    static constexpr std::size_t alignment = std::min(alignment_of<Super>, quantum);
    static_assert(aligns_blocks<Classes>(alignment), "blocks of these classes would not be aligned");
    static_assert(Classes::largest < Region::held, "a size and the mark of a held block share a word");

    RandomPlacesHeap() = default;
    RandomPlacesHeap(const RandomPlacesHeap &) = delete;
    RandomPlacesHeap &operator=(const RandomPlacesHeap &) = delete;
    ~RandomPlacesHeap() {
        if constexpr (Policy::leaks) {
            regions_.for_each_live(
                [](const void *p, std::size_t size) { Policy::found({Fault::leaked, p, size}); });
        }
    }

    /// A byte behind each block at least, to be looked at.
    void *malloc(std::size_t size) {
        return size < Classes::largest ? take(std::max(size + 1, alignment), size) : below_.malloc(size);
    }
    void *malloc_zeroed(std::size_t size) {
        return size < Classes::largest ? malloc(size) : below_.malloc_zeroed(size);
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        const bool page_will_do = wanted <= platform::smallest_page;
        const std::size_t power = page_will_do && size < Classes::largest / 2
                                      ? std::bit_ceil(std::max({size + 1, wanted, alignment}))
                                      : Classes::largest + 1;
        return power <= Classes::largest ? take(power, size) : below_.memalign(wanted, size + (size == 0));
    }

    void free(void *p) {
        if (Region *const region = regions_.find(address_of(p))) {
            if (std::uint32_t *const state = region->template live<Policy>(p, Fault::invalid_free)) {
                retire(region, p, *state);
            }
        } else {
            below_.free(p);
        }
    }

    /// In place what gets shorter and still fills half of its place, or when there is no memory for another; else
    /// elsewhere.
    void *reallocate(void *p, std::size_t size) {
        Region *const region = regions_.find(address_of(p));
        if (region == nullptr && (size >= Classes::largest || !cairn::is_live(below_, p))) {
            return below_.reallocate(p, size);
        }
        const std::uint32_t *const state =
            region == nullptr ? nullptr : region->template live<Policy>(p, Fault::invalid_free);
        const std::size_t had = state != nullptr ? *state - 1 : region == nullptr ? below_.getSize(p) : 0;
        if (state == nullptr && had == 0) {
            return nullptr; // the policy was told
        }
        const bool stays = region != nullptr && size <= had && 2 * size >= region->block;
        if (void *const moved = stays ? nullptr : malloc(size)) {
            std::memcpy(moved, p, std::min(size, had));
            free(p);
            return moved;
        }
        return size > had          ? nullptr
               : region != nullptr ? region->shorten(p, size)
                                   : below_.reallocate(p, size);
    }

    std::size_t getSize(void *p) const {
        Region *const region = regions_.find(address_of(p));
        if (region == nullptr) {
            return below_.getSize(p);
        }
        const std::uint32_t *const state = region->template live<Policy>(p, Fault::invalid_use);
        return state == nullptr ? 0 : *state - 1;
    }

    bool is_live(const void *p) const {
        Region *const region = regions_.find(address_of(p));
        return region == nullptr ? cairn::is_live(below_, p) : region->is_live(p);
    }

    /// From here on this process draws other places than its parent and the other children of that.
    void begin_in_child() { seed_ = platform::mix(random() ^ static_cast<std::uint64_t>(getpid())); }

private:
    void *take(std::size_t room, std::size_t size) {
        debug::RandomClass &its = classes_[Classes::class_of(room)];
        const std::size_t block = Classes::size_of(Classes::class_of(room));
        if (its.is_half_full() && !its.grow(regions_, block) && its.is_full() && !find_room(its, block)) {
            return nullptr;
        }
        const debug::RandomClass::Place place = its.take([this] { return random(); });
        void *const p = place.block();
        const std::size_t offset = debug::first_other(p, 0, block, 0);
        if (offset != block) {
            Policy::found({Fault::written_after_free, p, block, offset});
        }
        place.state() = static_cast<std::uint32_t>(size) + 1;
        return p;
    }

    /// There is no memory for as much again: what is held back is used, or less is asked for.
    bool find_room(debug::RandomClass &its, std::size_t block) {
        held_.let_all_go([this](void *p) { let_go(p); });
        if constexpr (requires { below_.let_held_go(); }) {
            below_.let_held_go();
        }
        return !its.is_full() || its.grow_by_what_there_is(regions_, block);
    }

    void retire(Region *region, void *p, std::uint32_t &state) {
        const std::size_t size = state - 1;
        const std::size_t offset = debug::first_other(p, size, region->block, 0);
        if (offset != region->block) {
            Policy::found({Fault::written_behind_end, p, size, offset});
        }
        std::memset(p, 0, region->block);
        state |= Region::held;
        if (void *const oldest = held_.hold(p)) {
            let_go(oldest);
        }
    }

    void let_go(void *p) {
        Region *const region = regions_.find(address_of(p));
        region->state_of(p) = 0;
        classes_[Classes::class_of(region->block)].note_free(*region);
    }

    std::size_t random() {
        seed_ = seed_ == 0 ? platform::secret() | 1 : seed_ + 1;
        return static_cast<std::size_t>(platform::mix(seed_) >> 16);
    }

    mutable Super below_;
    debug::RandomRegions regions_;
    debug::RandomClass classes_[Classes::count] = {};
    debug::Quarantine<Held> held_;
    std::uint64_t seed_ = 0;
};

template <class Classes, FaultPolicy Policy = StopAtFault, std::size_t Held = 1024>
struct RandomPlaces {
    template <class Super>
    using on = RandomPlacesHeap<Super, Classes, Policy, Held>;
};

} // namespace cairn
