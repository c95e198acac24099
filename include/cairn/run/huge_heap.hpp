// SPDX-License-Identifier: MIT
//
// Huge heap: blocks too long for a segment, each a mapping of its own at the start of a window.
//
// Adds:    blocks of any size and alignment, and growth by moving pages instead of copying.
// Needs:   RunHeap's lock and address space; HugeTable, HugeCache.
// Keeps:   every mapping is in the table, in the cache, or on its way to the kernel.
// Threads: any; one lock, not held while the kernel maps, moves or unmaps.
// Errors:  nullptr.
// Cost:    a hash look-up; a system call where the cache does not serve.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/huge_cache.hpp>
#include <cairn/run/run_heap.hpp>

namespace cairn {

class HugeHeap {
public:
    explicit constexpr HugeHeap(RunHeap &runs) : runs_(runs) {}
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
        char *p = map(bytes, alignment);
        if (p == nullptr && flush() != 0) {
            p = map(bytes, alignment);
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
    std::size_t size_of(const void *p) {
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
        unmap(dead);
        return true;
    }

    /// Gives a block a new length, in place or by moving its pages. nullptr if that can not be had: nothing
    /// changed.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t old_bytes = size_of(p);
        if (old_bytes == 0 || size > largest_) {
            return nullptr;
        }
        const std::size_t bytes = align_up(size, platform::vm::page_size());
        char *to = static_cast<char *>(p);
        if (platform::vm::resize_in_place(p, old_bytes, bytes)) {
            account(old_bytes, bytes);
        } else {
            to = bytes > old_bytes ? map(bytes, 1) : nullptr; // the place; its own pages are never touched
            if (to == nullptr) {
                return nullptr;
            }
            if (!platform::vm::move(p, old_bytes, to, bytes)) {
                unmap({to, bytes, nullptr});
                return nullptr;
            }
            account(old_bytes, 0); // the old mapping went with its pages
        }
        sync::Guard hold(lock_);
        HugeBlock *const block = table_.remove(p);
        block->memory = to;
        block->bytes = bytes;
        table_.enter(block);
        return to;
    }

    /// One tick of the purge clock: unmaps what has been in the cache since the last one.
    void purge_idle() { unmap_all(/*also_new=*/false); }

    /// Unmaps everything that is cached. Bytes given back.
    std::size_t flush() { return unmap_all(/*also_new=*/true); }

    std::size_t cached_bytes() const { return cache_.bytes(); }

    template <class S>
    void statistics(S &out) {
        sync::Guard hold(lock_);
        out.huge_live = table_.live();
        out.huge_live_blocks = table_.count();
        out.free_dirty += cache_.bytes();
    }

    /// In the child of a fork of a threaded process.
    void repair_after_fork() { lock_.reset_after_fork(); }

private:
    static constexpr std::size_t largest_ = std::size_t{1} << (platform::address_bits - 2);

    char *map(std::size_t bytes, std::size_t alignment) {
        sync::Guard hold(runs_.lock());
        AddressSpace &space = runs_.space();
        if (alignment <= window_size) {
            return static_cast<char *>(space.take(bytes));
        }
        auto *const raw = static_cast<char *>(space.take(bytes + alignment));
        if (raw == nullptr) {
            return nullptr;
        }
        auto *const p = reinterpret_cast<char *>(align_up(address_of(raw), alignment));
        if (p != raw) {
            space.give_back(raw, static_cast<std::size_t>(p - raw));
        }
        space.give_back(p + bytes, alignment - static_cast<std::size_t>(p - raw));
        return p;
    }

    void unmap(const HugeBlock &block) {
        sync::Guard hold(runs_.lock());
        runs_.space().give_back(block.memory, block.bytes);
    }

    std::size_t unmap_all(bool also_new) {
        HugeCache::Old old;
        {
            sync::Guard hold(lock_);
            old = cache_.tick(also_new);
        }
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < old.count; ++i) {
            bytes += old.blocks[i].bytes;
            unmap(old.blocks[i]);
        }
        return bytes;
    }

    void account(std::size_t before, std::size_t after) {
        sync::Guard hold(runs_.lock());
        runs_.space().shrank(before);
        runs_.space().grew(after);
    }

    RunHeap &runs_;
    sync::Lock lock_{sync::Rank::huge};
    HugeTable table_;
    HugeCache cache_;
};

} // namespace cairn
