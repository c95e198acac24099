// SPDX-License-Identifier: MIT
//
// Huge store: where the mappings of huge blocks come from, and where they wait when they are free.
//
// Adds:    new ones; cached ones made longer or shorter, with the pages that they have; giving back what is cached.
// Needs:   HugeMappings, HugeCache.
// Keeps:   when memory is taken from the operating system, the cache gives back as much of what lies free beyond
//          PurgingRuns::beside_mappings.
// Threads: any; one lock, not held while the kernel maps, moves or unmaps.
// Errors:  false.
// Cost:    system calls.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/huge_cache.hpp>
#include <cairn/run/huge_mappings.hpp>

namespace cairn {

class HugeStore {
public:
    HugeStore(const HugeStore &) = delete;
    HugeStore &operator=(const HugeStore &) = delete;

    /// One tick of the purge clock: unmaps what has been in the cache since the last one.
    void purge_idle() {
        unmap_all([](HugeCache &cache) { return cache.tick(); });
    }

    /// Unmaps everything that is cached. Bytes given back.
    std::size_t flush() {
        return unmap_all([](HugeCache &cache) { return cache.tick(/*all=*/true); });
    }

    /// Out of memory: the same, and waits for what others are giving back. False if there was nothing.
    bool give_up() {
        const bool mine = flush() != 0;
        return mappings_.wait_for_others() || mine;
    }

    /// New memory is about to be taken from the operating system: if that will be more than ever was, as much of the cache goes
    /// back, of what lies free beyond the invariant, runs among it.
    void make_room(std::size_t bytes) { give_back(bytes, HugeMappings::Line::stays); }

    /// The same for runs that were taken already; the water line has risen with them, and for huge blocks before, by so much in all.
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

    /// Memory from the cache, with the pages it has: what was taken already, or a shorter chain made longer, where room for a new
    /// mapping would have to be made there. Where not, lengths that take turns stay cached side by side.
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
