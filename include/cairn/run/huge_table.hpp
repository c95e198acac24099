// SPDX-License-Identifier: MIT
//
// Huge table: a hash table of the live huge blocks by their address, outside of the blocks.
//
// Adds:    enter, find, remove; descriptors, in pages that are never given back.
// Needs:   WindowMap, platform::vm.
// Keeps:   the window of each block in the table is marked `huge`, and no other one.
// Threads: the caller holds a lock.
// Errors:  nullptr when there is no memory for a descriptor.
// Cost:    a hash look-up in 256 buckets.
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/window_map.hpp>

namespace cairn {

struct HugeBlock {
    char *memory = nullptr;
    std::size_t bytes = 0;
    HugeBlock *next = nullptr;
    bool hidden = false; ///< find() and remove() do not find it

    char *end() const { return memory + bytes; }
};

/// At least so many bytes lie between the end of a block and the next window, whose first lines may be the descriptors
/// of a segment.
inline constexpr std::size_t huge_guard = slot_size;

/// The length of the mapping for a block of `bytes` that starts at a window: longer by the guard if its end would
/// otherwise be too near to the next window.
constexpr std::size_t huge_length(std::size_t bytes) {
    return align_up(bytes, window_size) - bytes < huge_guard ? bytes + huge_guard : bytes;
}

class HugeTable {
public:
    /// A descriptor that is not in the table.
    HugeBlock *make() {
        if (spare_ == nullptr) {
            const std::size_t page = platform::vm::page_size();
            auto *const blocks = static_cast<HugeBlock *>(platform::vm::map(page));
            for (std::size_t i = 0; blocks != nullptr && i < page / sizeof(HugeBlock); ++i) {
                recycle(&blocks[i]);
            }
        }
        HugeBlock *const block = spare_;
        if (block != nullptr) {
            spare_ = block->next;
        }
        return block;
    }

    void recycle(HugeBlock *block) {
        *block = {.next = spare_};
        spare_ = block;
    }

    void enter(HugeBlock *block) {
        HugeBlock *&head = buckets_[bucket_of(block->memory)];
        block->next = head;
        head = block;
        WindowMap::set(block->memory, WindowKind::huge);
        live_.store(live() + block->bytes, std::memory_order_relaxed);
        ++count_;
    }

    /// The block that starts at p, or nullptr.
    const HugeBlock *find(const void *p) const { return *const_cast<HugeTable *>(this)->link_to(p); }

    /// Takes the block that starts at p out of the table and returns it; nullptr if there is none.
    HugeBlock *remove(const void *p) {
        HugeBlock **const link = link_to(p);
        HugeBlock *const block = *link;
        if (block != nullptr) {
            *link = block->next;
            WindowMap::set(p, WindowKind::foreign);
            live_.store(live() - block->bytes, std::memory_order_relaxed);
            --count_;
        }
        return block;
    }

    /// Hides the block at p from find() and remove(), or shows it again; it stays in the table.
    void set_hidden(const void *p, bool hidden) { (*link_to(p, !hidden))->hidden = hidden; }

    std::size_t live() const { return live_.load(std::memory_order_relaxed); } ///< bytes; any thread
    std::size_t count() const { return count_; }

    /// In the child of a fork: another thread of the parent may have changed a link and not yet the sums.
    void repair_after_fork() {
        std::size_t sum = 0;
        count_ = 0;
        for (const HugeBlock *block : buckets_) {
            for (; block != nullptr; block = block->next) {
                sum += block->bytes;
                ++count_;
            }
        }
        live_.store(sum, std::memory_order_relaxed);
    }

private:
    static constexpr std::size_t bucket_count_ = 256;

    static std::size_t bucket_of(const void *p) { return (address_of(p) / window_size) % bucket_count_; }

    HugeBlock **link_to(const void *p, bool hidden = false) {
        HugeBlock **at = &buckets_[bucket_of(p)];
        while (*at != nullptr && ((*at)->memory != p || (*at)->hidden != hidden)) {
            at = &(*at)->next;
        }
        return at;
    }

    HugeBlock *buckets_[bucket_count_]{};
    HugeBlock *spare_ = nullptr;
    std::atomic<std::size_t> live_{0}; ///< relaxed: a counter, written with the lock held
    std::size_t count_ = 0;
};

} // namespace cairn
