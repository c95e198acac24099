// SPDX-License-Identifier: MIT
//
// Huge store: the source of mappings for huge blocks, and the cache of freed ones.
//
// Adds:    new mappings; cached mappings, resized, with their resident pages; giving cached memory back.
// Needs:   HugeMappings, HugeCache.
// Keeps:   when memory is taken from the operating system, and free memory exceeds PurgingRuns::beside_mappings, the
//          cache gives back as many bytes of the excess as are taken.
// Threads: any; one lock, not held while the kernel maps, moves or unmaps.
// Errors:  false.
// Cost:    system calls.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/huge_cache.hpp>
#include <cairn/run/huge_mappings.hpp>

#include <algorithm>

namespace cairn {

class HugeStore {
public:
    HugeStore(const HugeStore &) = delete;
    HugeStore &operator=(const HugeStore &) = delete;

    /// One tick of the purge clock: unmaps the mappings that were in the cache at the last one.
    void purge_idle() {
        unmap_all([](HugeCache &cache) { return cache.tick(); });
    }

    /// Unmaps everything in the cache. Returns the bytes given back.
    std::size_t flush() {
        return unmap_all([](HugeCache &cache) { return cache.tick(/*all=*/true); });
    }

    /// Out of memory: unmaps everything in the cache, and waits for other threads that are unmapping. False if no
    /// memory was given back.
    bool give_up() {
        const bool mine = flush() != 0;
        return mappings_.wait_for_others() || mine;
    }

    /// Before `bytes` are taken from the operating system: if that exceeds the water line, as many bytes of the cache
    /// are given back, as far as the free memory, including free runs, exceeds its limit.
    void make_room(std::size_t bytes) { give_back(bytes, HugeMappings::Line::stays); }

    /// After runs have grown: gives back cached memory for that growth, as make_room() does. `risen`: by how much runs
    /// and mappings have raised the water line, in all.
    void pay_for_runs(std::size_t risen) {
        const std::size_t runs = risen - std::min(risen, mappings_.risen());
        const std::size_t paid = paid_for_runs_.exchange(runs, std::memory_order_relaxed);
        if (runs > paid) {
            give_back(runs - paid, HugeMappings::Line::falls);
        }
    }

    std::size_t cached_bytes() const { return cache_.bytes(); }

protected:
    explicit constexpr HugeStore(RunHeap &runs) : mappings_(runs) {}
    ~HugeStore() = default;

    /// A new mapping.
    bool map(HugeBlock &block, std::size_t bytes, std::size_t alignment) {
        make_room(bytes);
        block.memory = mappings_.map(bytes, alignment);
        if (block.memory == nullptr && give_up()) {
            block.memory = mappings_.map(bytes, alignment);
        }
        block.bytes = bytes;
        return block.memory != nullptr;
    }

    /// Serves a request of `bytes` with a cached mapping and its resident pages: the one in `block`, if the caller has
    /// taken one, or else a shorter chain that is lengthened. A shorter one only if memory of the cache would have to
    /// be given back for a new mapping; otherwise mappings of several lengths that are used in turn stay cached.
    bool reuse(HugeBlock &block, std::size_t bytes) {
        if (block.memory == nullptr && (price_of(bytes) == 0 || !take_shorter(bytes, block))) {
            return false;
        }
        if (bytes > block.bytes) {
            make_room(bytes - block.bytes);
        }
        const std::size_t length = std::max(bytes, block.bytes);
        char *const to = mappings_.resize(block.memory, block.bytes, length);
        if (to == nullptr) {
            mappings_.unmap(block.memory, block.bytes);
            return false;
        }
        block.memory = to;
        block.bytes = length;
        return true;
    }

private:
    bool take_shorter(std::size_t bytes, HugeBlock &block) {
        sync::Guard hold(lock_);
        return cache_.take_shorter(bytes, block);
    }

    void give_back(std::size_t bytes, HugeMappings::Line line) {
        if (const std::size_t price = price_of(bytes); price != 0) {
            unmap_all([=](HugeCache &cache) { return cache.evict(price); }, line);
        }
    }

    std::size_t price_of(std::size_t bytes) {
        return cached_bytes() != 0 ? mappings_.price(bytes, cached_bytes()) : 0;
    }

    template <class Choice>
    std::size_t unmap_all(Choice &&choice, HugeMappings::Line line = HugeMappings::Line::falls) {
        HugeCache::Old old;
        {
            sync::Guard hold(lock_);
            old = choice(cache_);
        }
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < old.count; ++i) {
            bytes += old.blocks[i].bytes;
            mappings_.unmap(old.blocks[i].memory, old.blocks[i].bytes, line);
        }
        return bytes;
    }

protected:
    HugeMappings mappings_;
    mutable sync::Lock lock_{sync::Rank::huge};
    HugeCache cache_;

private:
    std::atomic<std::size_t> paid_for_runs_{0}; ///< relaxed: a counter
};

} // namespace cairn
