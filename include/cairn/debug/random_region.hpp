// SPDX-License-Identifier: MIT
//
// Random region: a stretch of blocks of one size between two guard pages; what is known of them is kept apart.
//
// Adds:    the region's record, its making and unmaking, what a block is and that it gets shorter, and the way from an
//          address to the region that it lies in.
// Needs:   memory mapped for itself; no heap.
// Keeps:   nothing but zeros is ever written into a block. The table is in the order of addresses.
// Threads: one at a time.
// Errors:  nullptr when the kernel has no memory, or the table is full.
// Cost:    4 bytes a block; three mappings a region and two for its record; a binary search for an address.
#pragma once

#include <cairn/debug/finding.hpp>
#include <cairn/platform/vm.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace cairn::debug {

struct RandomRegion {
    std::uintptr_t start;
    std::size_t block;
    std::size_t count;  ///< of blocks
    RandomRegion *next; ///< of the same size
    std::size_t record_bytes;
    std::size_t used; ///< places of blocks that are live, or held

    // For each block, behind this record: 0 if it is free, else 1 and what was asked for; the top bit: freed, but held.
    static constexpr std::uint32_t held = std::uint32_t{1} << 31;
    std::uint32_t *states() { return reinterpret_cast<std::uint32_t *>(this + 1); }

    void *at(std::size_t i) const { return reinterpret_cast<void *>(start + i * block); }
    std::uint32_t &state_of(const void *p) { return states()[(address_of(p) - start) / block]; }

    /// The block that holds p is live; p is where it starts.
    bool is_in_live(const void *p) { return state_of(p) != 0 && (state_of(p) & held) == 0; }
    bool is_live(const void *p) { return is_in_live(p) && (address_of(p) - start) % block == 0; }

    /// The state of the live block at p; else the policy is told what p is, and there is none.
    template <FaultPolicy Policy>
    std::uint32_t *live(const void *p, Fault otherwise) {
        const std::size_t offset = (address_of(p) - start) % block;
        std::uint32_t &state = state_of(p);
        if (is_live(p)) {
            return &state;
        }
        Finding finding{otherwise, p};
        if (otherwise == Fault::invalid_free && is_in_live(p)) {
            finding = {Fault::interior_free, static_cast<const char *>(p) - offset, state - 1, offset};
        } else if (otherwise == Fault::invalid_free && offset == 0) {
            finding = {Fault::multiple_free, p, block};
        }
        Policy::found(finding);
        return nullptr;
    }

    /// A live block of which less is asked for now: the rest is zero, as all behind a block is.
    void *shorten(void *p, std::size_t size) {
        const std::size_t had = state_of(p) - 1;
        std::memset(static_cast<char *>(p) + size, 0, had - size);
        state_of(p) = static_cast<std::uint32_t>(size) + 1;
        return p;
    }

    static RandomRegion *make(std::size_t block, std::size_t count) {
        const std::size_t page = platform::vm::page_size();
        const std::size_t bytes = align_up(block * count, page) + 2 * page;
        const std::size_t record_bytes =
            align_up(sizeof(RandomRegion) + count * sizeof(std::uint32_t), page) + 2 * page;
        char *const blocks = with_guards(bytes);
        char *const record = blocks == nullptr ? nullptr : with_guards(record_bytes);
        if (record == nullptr) {
            if (blocks != nullptr) {
                platform::vm::unmap(blocks, bytes);
            }
            return nullptr;
        }
        auto *const region = reinterpret_cast<RandomRegion *>(record + page);
        *region = RandomRegion{address_of(blocks) + page, block, count, nullptr, record_bytes, 0};
        return region;
    }

    void unmake() {
        const std::size_t page = platform::vm::page_size();
        platform::vm::unmap(reinterpret_cast<void *>(start - page), align_up(block * count, page) + 2 * page);
        platform::vm::unmap(reinterpret_cast<char *>(this) - page, record_bytes);
    }

private:
    static char *with_guards(std::size_t bytes) {
        const std::size_t page = platform::vm::page_size();
        auto *const p = static_cast<char *>(platform::vm::map(bytes));
        if (p != nullptr) {
            platform::vm::forbid(p, page);
            platform::vm::forbid(p + bytes - page, page);
        }
        return p;
    }
};

class RandomRegions {
public:
    RandomRegions() = default;
    RandomRegions(const RandomRegions &) = delete;
    RandomRegions &operator=(const RandomRegions &) = delete;
    ~RandomRegions() {
        std::for_each(regions_, regions_ + count_, [](RandomRegion *region) { region->unmake(); });
    }

    RandomRegion *make(std::size_t block, std::size_t count) {
        RandomRegion *const region =
            count_ == std::size(regions_) ? nullptr : RandomRegion::make(block, count);
        if (region != nullptr) {
            RandomRegion **const place = above(region->start);
            std::copy_backward(place, regions_ + count_, regions_ + count_ + 1);
            *place = region;
            ++count_;
        }
        return region;
    }

    RandomRegion *find(std::uintptr_t address) const {
        RandomRegion *const *const place = above(address);
        RandomRegion *const region = place == regions_ ? nullptr : place[-1];
        return region != nullptr && address - region->start < region->block * region->count ? region
                                                                                            : nullptr;
    }

    /// f(p, size) for each block that is not freed.
    template <class F>
    void for_each_live(F f) const {
        std::for_each(regions_, regions_ + count_, [&](RandomRegion *region) {
            for (std::size_t i = 0; i < region->count; ++i) {
                const std::uint32_t state = region->states()[i];
                if (state != 0 && (state & RandomRegion::held) == 0) {
                    f(region->at(i), std::size_t{state} - 1);
                }
            }
        });
    }

private:
    RandomRegion **above(std::uintptr_t address) const {
        return std::upper_bound(regions_, regions_ + count_, address,
                                [](std::uintptr_t a, const RandomRegion *r) { return a < r->start; });
    }

    mutable RandomRegion *regions_[2048] = {};
    std::size_t count_ = 0;
};

} // namespace cairn::debug
