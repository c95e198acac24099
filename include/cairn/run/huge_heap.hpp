// SPDX-License-Identifier: MIT
//
// Huge heap: blocks too long for a segment, each a mapping of its own at the start of a window.
//
// Adds:    blocks of any size and alignment, and growth by moving pages instead of copying.
// Needs:   HugeMappings, HugeTable, HugeCache.
// Keeps:   every mapping is in the table, in the cache, or on its way from or to the kernel. When a new one is
//          made, the cache gives back as much of what lies free beyond PurgingRuns::beside_mappings.
// Threads: any; one lock, not held while the kernel maps, moves or unmaps.
// Errors:  nullptr.
// Cost:    a hash look-up; a system call where the cache does not serve.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/huge_cache.hpp>
#include <cairn/run/huge_mappings.hpp>

namespace cairn {

class HugeHeap {
public:
    explicit constexpr HugeHeap(RunHeap &runs) : mappings_(runs) {}
    HugeHeap(const HugeHeap &) = delete;
    HugeHeap &operator=(const HugeHeap &) = delete;

    /// `clean` tells whether the memory reads as zero. `alignment` up to window_size comes for free.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean) {
        if (size > largest_ || alignment > largest_) {
            return nullptr;
        }
        const std::size_t bytes = align_up(size, platform::vm::page_size());
        HugeBlock *block = nullptr;
        {
            sync::Guard hold(lock_);
            block = table_.make();
            if (block == nullptr) {
                return nullptr;
            }
            if (alignment <= window_size && cache_.take(bytes, *block)) {
                table_.enter(block);
                clean = false;
                return block->memory;
            }
        }
        make_room(bytes);
        char *p = mappings_.map(bytes, alignment);
        if (p == nullptr && give_up()) {
            p = mappings_.map(bytes, alignment);
        }
        sync::Guard hold(lock_);
        if (p == nullptr) {
            table_.recycle(block);
            return nullptr;
        }
        block->memory = p;
        block->bytes = bytes;
        table_.enter(block);
        clean = true;
        return p;
    }

    /// The usable size of a live block; 0 if `p` is not one.
    std::size_t size_of(const void *p) const {
        sync::Guard hold(lock_);
        const HugeBlock *const block = table_.find(p);
        return block != nullptr ? block->bytes : 0;
    }

    /// False if `p` is not a live block: nothing has changed.
    bool free(void *p) {
        HugeBlock dead;
        {
            sync::Guard hold(lock_);
            HugeBlock *const block = table_.remove(p);
            if (block == nullptr) {
                return false;
            }
            dead = *block;
            table_.recycle(block);
            if (cache_.put(dead)) {
                return true;
            }
        }
        mappings_.unmap(dead.memory, dead.bytes);
        return true;
    }

    /// Gives a block a new length, in place or by moving its pages. nullptr if that can not be had: nothing
    /// changed.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t bytes = size <= largest_ ? align_up(size, platform::vm::page_size()) : 0;
        // Out of the table first: once its pages have moved, the old address may be somebody else's.
        lock_.lock();
        HugeBlock *const block = bytes != 0 ? table_.remove(p) : nullptr;
        lock_.unlock();
        if (block == nullptr) {
            return nullptr;
        }
        char *to = block->memory;
        if (!mappings_.resize_in_place(to, block->bytes, bytes)) {
            to = bytes > block->bytes ? mappings_.move(to, block->bytes, bytes) : nullptr;
        }
        if (to != nullptr) {
            block->memory = to;
            block->bytes = bytes;
        }
        sync::Guard hold(lock_);
        table_.enter(block);
        return to;
    }

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

    /// New memory is taken from the operating system: if that is more than ever was, as much of the cache goes back, of what lies
    /// free beyond the invariant, runs among it.
    void make_room(std::size_t bytes) {
        const std::size_t price = cached_bytes() != 0 ? mappings_.price(bytes, cached_bytes()) : 0;
        if (price != 0) {
            unmap_all([=](HugeCache &cache) { return cache.evict(price); }, HugeMappings::Line::stays);
        }
    }

    std::size_t live_bytes() const { return table_.live(); }
    std::size_t cached_bytes() const { return cache_.bytes(); }

    template <class S>
    void statistics(S &out) {
        sync::Guard hold(lock_);
        out.huge_live = table_.live();
        out.huge_live_blocks = table_.count();
        out.free_dirty += cache_.bytes();
    }

    /// In the child of a fork of a threaded process.
    void repair_after_fork() {
        lock_.reset_after_fork();
        table_.repair_after_fork();
        cache_.repair_after_fork();
        mappings_.repair_after_fork();
    }

private:
    static constexpr std::size_t largest_ = std::size_t{1} << (platform::address_bits - 2);

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

    HugeMappings mappings_;
    mutable sync::Lock lock_{sync::Rank::huge};
    HugeTable table_;
    HugeCache cache_;
};

} // namespace cairn
