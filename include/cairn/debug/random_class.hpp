// SPDX-License-Identifier: MIT
//
// Random class: the regions that have the places for blocks of one size.
//
// Adds:    a free place at random, after some tries the next one; regions, each as large as all before it.
// Keeps:   counts of all places and of those in use.
// Threads: one at a time.
// Errors:  false when there is no memory for a region.
// Cost:    two looks in the mean where half of the places are free.
#pragma once

#include <cairn/debug/random_region.hpp>

#include <algorithm>
#include <utility>

namespace cairn::debug {

class RandomClass {
public:
    struct Place {
        RandomRegion *region;
        std::size_t index;
        std::uint32_t &state() const { return region->states()[index]; }
        void *block() const { return region->at(index); }
    };

    bool is_half_full() const { return 2 * (used_ + 1) > total_; }
    bool is_full() const { return used_ == total_; }

    bool grow(RandomRegions &regions, std::size_t block) {
        return add(regions, block, std::clamp(total_, least_of(block), most_of(block)));
    }

    /// The same where memory is short: less, if there is not so much.
    bool grow_by_what_there_is(RandomRegions &regions, std::size_t block) {
        std::size_t count = std::clamp(total_, least_of(block), most_of(block));
        while (!add(regions, block, count)) {
            if (count == least_of(block)) {
                return false;
            }
            count = std::max(count / 2, least_of(block));
        }
        return true;
    }

    /// Takes a place that is not in use: there is one.
    template <class F>
    Place take(F random) {
        Place place = at(random() % total_);
        for (int tried = 0; place.state() != 0 && tried < tries_; ++tried) {
            place = at(random() % total_);
        }
        if (place.state() != 0) {
            place = {with_room(), random()};
            do {
                place.index = (place.index + 1) % place.region->count;
            } while (place.state() != 0);
        }
        ++place.region->used;
        ++used_;
        return place;
    }

    /// A place whose state is 0 now.
    void note_free(RandomRegion &region) {
        --region.used;
        --used_;
    }

private:
    static constexpr std::size_t first_bytes_ = 64_KiB, most_bytes_ = 64_MiB;
    static constexpr int tries_ = 64;

    static std::size_t least_of(std::size_t block) { return std::max(first_bytes_ / block, std::size_t{8}); }
    static std::size_t most_of(std::size_t block) { return std::max(most_bytes_ / block, least_of(block)); }

    bool add(RandomRegions &regions, std::size_t block, std::size_t count) {
        RandomRegion *const region = regions.make(block, count);
        if (region != nullptr) {
            region->next = std::exchange(first_, region);
            total_ += count;
        }
        return region != nullptr;
    }

    RandomRegion *with_room() const {
        RandomRegion *region = first_;
        while (region->used == region->count) {
            region = region->next;
        }
        return region;
    }

    Place at(std::size_t i) const {
        RandomRegion *region = first_;
        for (; i >= region->count; region = region->next) {
            i -= region->count;
        }
        return {region, i};
    }

    RandomRegion *first_ = nullptr;    ///< the largest, but where memory was short
    std::size_t total_ = 0, used_ = 0; ///< places; those with a block that is live, or held
};

} // namespace cairn::debug
