// SPDX-License-Identifier: MIT
//
// Huge heap: blocks too long for a segment, each a mapping of its own at the start of a window.
//
// Adds:    blocks of any size and alignment, growth by mremap, and a short cache of freed mappings.
// Needs:   RunHeap's lock and address space.
// Keeps:   a table of what is live, apart from the blocks, so that any pointer can be judged without touching
// it.
//          The cache holds at most `cache_bytes`, and only until the second purge tick after it was filled.
// Threads: any; one lock, not held while pages are cleared or moved.
// Errors:  nullptr.
// Cost:    a hash look-up; a system call where the cache does not serve.
// Source:  large objects directly from virtual memory (Hoard, section 3).
#pragma once

#include <cairn/run/run_heap.hpp>

namespace cairn {

class HugeHeap {
public:
    explicit constexpr HugeHeap(RunHeap &runs) : runs_(runs) {}
    HugeHeap(const HugeHeap &) = delete;
    HugeHeap &operator=(const HugeHeap &) = delete;

    /// `clean` tells whether the memory reads as zero. `alignment` up to window_size comes for free.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean) {
        const std::size_t page = platform::vm::page_size();
        if (size > largest_ || alignment > largest_) {
            return nullptr;
        }
        const std::size_t bytes = align_up(size, page);
        Block *block = nullptr;
        {
            sync::Guard hold(lock_);
            block = new_block();
            if (block == nullptr) {
                return nullptr;
            }
            if (alignment <= window_size && from_cache(bytes, *block)) {
                enter(block);
                clean = false;
                return block->memory;
            }
        }
        char *p = map(bytes, alignment);
        if (p == nullptr) {
            flush();
            p = map(bytes, alignment);
        }
        sync::Guard hold(lock_);
        if (p == nullptr) {
            recycle(block);
            return nullptr;
        }
        block->memory = p;
        block->bytes = bytes;
        enter(block);
        clean = true;
        return p;
    }

    /// The usable size of a live block; 0 if `p` is not one.
    std::size_t size_of(const void *p) {
        sync::Guard hold(lock_);
        const Block *block = *find(p);
        return block != nullptr ? block->bytes : 0;
    }

    /// False if `p` is not a live block: nothing has changed.
    bool free(void *p) {
        Block dead;
        {
            sync::Guard hold(lock_);
            Block **const at = find(p);
            if (*at == nullptr) {
                return false;
            }
            Block *const block = *at;
            *at = block->next;
            WindowMap::set(p, WindowKind::foreign);
            live_ -= block->bytes;
            --live_blocks_;
            dead = *block;
            recycle(block);
            if (dead.bytes <= cache_bytes && to_cache(dead)) {
                return true;
            }
        }
        unmap(dead);
        return true;
    }

    /// Gives a block a new length, in place or by moving its pages. nullptr if that can not be had: nothing
    /// changed.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t bytes = align_up(size, platform::vm::page_size());
        const std::size_t old_bytes = size_of(p);
        if (old_bytes == 0 || size > largest_) {
            return nullptr;
        }
        if (platform::vm::resize_in_place(p, old_bytes, bytes)) {
            account(old_bytes, bytes);
            resized(p, static_cast<char *>(p), bytes);
            return p;
        }
        if (bytes < old_bytes) {
            return nullptr;
        }
        char *const to = map(bytes, 1); // the place; its pages are replaced before they are touched
        if (to == nullptr) {
            return nullptr;
        }
        if (!platform::vm::move(p, old_bytes, to, bytes)) {
            unmap({to, bytes, nullptr});
            return nullptr;
        }
        account(old_bytes, 0); // the old mapping went with its pages
        resized(p, to, bytes);
        return to;
    }

    /// One tick of the purge clock: unmaps what has been in the cache since the last one.
    void purge_idle() {
        Block old[cache_slots_];
        std::size_t count = 0;
        {
            sync::Guard hold(lock_);
            for (Cached &c : cache_) {
                if (c.block.memory != nullptr && c.ticks++ != 0) {
                    old[count++] = drop(c);
                }
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            unmap(old[i]);
        }
    }

    /// Unmaps everything that is cached. Bytes given back.
    std::size_t flush() {
        Block old[cache_slots_];
        std::size_t count = 0;
        std::size_t bytes = 0;
        {
            sync::Guard hold(lock_);
            for (Cached &c : cache_) {
                if (c.block.memory != nullptr) {
                    bytes += c.block.bytes;
                    old[count++] = drop(c);
                }
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            unmap(old[i]);
        }
        return bytes;
    }

    std::size_t cached_bytes() const { return cached_.load(std::memory_order_relaxed); }

    template <class S>
    void statistics(S &out) {
        sync::Guard hold(lock_);
        out.huge_live = live_;
        out.huge_live_blocks = live_blocks_;
        out.free_dirty += cached_bytes();
    }

    /// In the child of a fork of a threaded process.
    void repair_after_fork() { lock_.reset_after_fork(); }

    static constexpr std::size_t cache_bytes = 256_MiB;

private:
    struct Block {
        char *memory = nullptr;
        std::size_t bytes = 0;
        Block *next = nullptr;
    };
    struct Cached {
        Block block;
        unsigned ticks = 0;
    };

    static constexpr std::size_t largest_ = std::size_t{1} << (platform::address_bits - 2);
    static constexpr std::size_t cache_slots_ = 16;
    static constexpr std::size_t buckets_ = 256;

    static std::size_t bucket_of(const void *p) { return (address_of(p) / window_size) % buckets_; }

    /// The link that leads to the block at p; *link is nullptr when there is none.
    Block **find(const void *p) {
        Block **at = &table_[bucket_of(p)];
        while (*at != nullptr && (*at)->memory != p) {
            at = &(*at)->next;
        }
        return at;
    }

    void enter(Block *block) {
        Block *&head = table_[bucket_of(block->memory)];
        block->next = head;
        head = block;
        WindowMap::set(block->memory, WindowKind::huge);
        live_ += block->bytes;
        ++live_blocks_;
    }

    void resized(void *from, char *to, std::size_t bytes) {
        sync::Guard hold(lock_);
        Block **const at = find(from);
        Block *const block = *at;
        *at = block->next;
        WindowMap::set(from, WindowKind::foreign);
        live_ -= block->bytes;
        --live_blocks_;
        block->memory = to;
        block->bytes = bytes;
        enter(block);
    }

    /// Descriptors come from pages of their own, which are never given back.
    Block *new_block() {
        if (spare_ == nullptr) {
            const std::size_t page = platform::vm::page_size();
            auto *const blocks = static_cast<Block *>(platform::vm::map(page));
            for (std::size_t i = 0; blocks != nullptr && i < page / sizeof(Block); ++i) {
                recycle(&blocks[i]);
            }
        }
        Block *const block = spare_;
        if (block != nullptr) {
            spare_ = block->next;
        }
        return block;
    }
    void recycle(Block *block) {
        block->memory = nullptr;
        block->next = spare_;
        spare_ = block;
    }

    /// The shortest cached mapping that holds `bytes` and wastes at most an eighth.
    bool from_cache(std::size_t bytes, Block &out) {
        Cached *best = nullptr;
        for (Cached &c : cache_) {
            if (c.block.memory != nullptr && c.block.bytes >= bytes && c.block.bytes - bytes <= bytes / 8 &&
                (best == nullptr || c.block.bytes < best->block.bytes)) {
                best = &c;
            }
        }
        if (best == nullptr) {
            return false;
        }
        const Block found = drop(*best);
        out.memory = found.memory;
        out.bytes = found.bytes;
        return true;
    }

    bool to_cache(const Block &dead) {
        if (cached_bytes() + dead.bytes > cache_bytes) {
            return false;
        }
        for (Cached &c : cache_) {
            if (c.block.memory == nullptr) {
                c.block = dead;
                c.ticks = 0;
                cached_.store(cached_bytes() + dead.bytes, std::memory_order_relaxed);
                return true;
            }
        }
        return false;
    }

    Block drop(Cached &c) {
        const Block block = c.block;
        c.block = {};
        cached_.store(cached_bytes() - block.bytes, std::memory_order_relaxed);
        return block;
    }

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

    void unmap(const Block &block) {
        sync::Guard hold(runs_.lock());
        runs_.space().give_back(block.memory, block.bytes);
    }

    void account(std::size_t before, std::size_t after) {
        sync::Guard hold(runs_.lock());
        runs_.space().shrank(before);
        runs_.space().grew(after);
    }

    RunHeap &runs_;
    sync::Lock lock_{sync::Rank::huge};
    Block *table_[buckets_]{};
    Block *spare_ = nullptr;
    Cached cache_[cache_slots_]{};
    std::atomic<std::size_t> cached_{0};
    std::size_t live_ = 0;
    std::size_t live_blocks_ = 0;
};

} // namespace cairn
