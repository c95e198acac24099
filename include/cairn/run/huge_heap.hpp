// SPDX-License-Identifier: MIT
//
// Huge heap: blocks too long for a segment, each a mapping of its own at the start of a window.
//
// Adds:    blocks of any size and alignment, and growth by moving pages instead of copying.
// Needs:   HugeStore, HugeTable.
// Keeps:   every mapping is in the table, in the cache, or on its way from or to the kernel.
// Threads: any; one lock, not held while the kernel maps, moves or unmaps.
// Errors:  nullptr.
// Cost:    a hash look-up; a system call where the cache does not serve.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/huge_store.hpp>

namespace cairn {

class HugeHeap : public HugeStore {
public:
    /// A quarter of all addresses: more is not asked for.
    static constexpr std::size_t largest = std::size_t{1} << (platform::address_bits - 2);

    explicit constexpr HugeHeap(RunHeap &runs) : HugeStore(runs) {}
    HugeHeap(const HugeHeap &) = delete;
    HugeHeap &operator=(const HugeHeap &) = delete;

    /// `clean` tells whether the memory reads as zero. `alignment` up to window_size comes for free.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean) {
        if (size > largest || alignment > largest) {
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
            if (alignment <= window_size && cache_.take(bytes, *block) &&
                is_aligned(block->memory, window_size)) {
                table_.enter(block);
                clean = false;
                return block->memory;
            }
        }
        clean = alignment > window_size || !reuse(*block, bytes);
        const bool has = !clean || map(*block, bytes, alignment);
        sync::Guard hold(lock_);
        if (!has) {
            table_.recycle(block);
            return nullptr;
        }
        table_.enter(block);
        return block->memory;
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
        const std::size_t bytes = size <= largest ? align_up(size, platform::vm::page_size()) : 0;
        // Out of the table first: once its pages have moved, the old address may be somebody else's.
        lock_.lock();
        HugeBlock *const block = bytes != 0 ? table_.remove(p) : nullptr;
        if (block == nullptr) {
            lock_.unlock();
            return nullptr;
        }
        const HugeBlock before = *block;
        if (bytes > before.bytes) {
            block->bytes += cache_.take_at(before.end(), huge_length(bytes) - before.bytes);
        }
        lock_.unlock();
        const std::size_t length =
            bytes < before.bytes ? std::min(huge_length(bytes), before.bytes) : std::max(bytes, block->bytes);
        if (length > block->bytes) {
            make_room(length - block->bytes);
        }
        char *const to = mappings_.resize(block->memory, block->bytes, length);
        sync::Guard hold(lock_);
        if (to != nullptr) {
            block->memory = to;
            block->bytes = length;
        } else if (block->bytes != before.bytes &&
                   cache_.put({before.end(), block->bytes - before.bytes, nullptr})) {
            block->bytes = before.bytes;
        }
        table_.enter(block);
        return to;
    }

    /// A live block is nobody's, for free() and the others, until it is shown again.
    void set_hidden(const void *p, bool hidden) {
        sync::Guard hold(lock_);
        table_.set_hidden(p, hidden);
    }

    std::size_t live_bytes() const { return table_.live(); }

    template <class S>
    void statistics(S &out) {
        const sync::Glance hold(lock_);
        out.huge_live = table_.live();
        out.huge_live_blocks = table_.count();
        out.free_dirty += cache_.bytes();
    }

    /// Of blocks, and of what is kept of them.
    std::size_t mapped_bytes() const { return table_.live() + cached_bytes(); }

    /// In the child of a fork of a threaded process.
    void repair_after_fork() {
        lock_.reset_after_fork();
        table_.repair_after_fork();
        cache_.repair_after_fork();
        mappings_.repair_after_fork();
    }

private:
    HugeTable table_;
};

} // namespace cairn
