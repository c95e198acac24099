// SPDX-License-Identifier: MIT
//
// Huge heap: huge blocks, each a mapping of its own at the start of a window.
//
// Adds:    blocks of any size and alignment; reallocation by moving pages instead of copying.
// Needs:   HugeStore, HugeTable.
// Keeps:   every mapping is in the table, in the cache, or in the hands of a thread that maps or unmaps it.
// Threads: any; one lock, not held while the kernel maps, moves or unmaps.
// Errors:  nullptr.
// Cost:    a hash look-up; a system call where no cached mapping can be used.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/huge_store.hpp>

#include <algorithm>

namespace cairn {

class HugeHeap : public HugeStore {
public:
    /// A quarter of all addresses; larger requests are refused.
    static constexpr std::size_t largest = std::size_t{1} << (platform::address_bits - 2);

    explicit constexpr HugeHeap(RunHeap &runs) : HugeStore(runs) {}
    HugeHeap(const HugeHeap &) = delete;
    HugeHeap &operator=(const HugeHeap &) = delete;

    /// A block, or nullptr. Sets `clean` to whether the memory reads as zero. An `alignment` up to window_size costs
    /// nothing.
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

    /// The usable size of the live block at `p`; 0 if there is none.
    std::size_t size_of(const void *p) const {
        sync::Guard hold(lock_);
        const HugeBlock *const block = table_.find(p);
        return block != nullptr ? block->bytes : 0;
    }

    /// Frees the live block at `p`. False, and nothing has changed, if there is none.
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

    /// Gives a block a new length, in place or by moving its pages. nullptr, and nothing has changed, when that is not
    /// possible.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t bytes = size <= largest ? align_up(size, platform::vm::page_size()) : 0;
        // Out of the table first: once its pages have moved, another thread may get the old address for a block.
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

    /// Hides a live block, or shows it again: free(), size_of() and reallocate() do not find a hidden block.
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

    /// Bytes of live blocks and of cached mappings.
    std::size_t mapped_bytes() const { return table_.live() + cached_bytes(); }

    /// In the child of a fork of a process with several threads.
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
