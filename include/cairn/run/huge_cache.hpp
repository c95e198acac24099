// SPDX-License-Identifier: MIT
//
// Huge cache: a few freed huge mappings, kept for a short time, because the faults of a new one cost far more
// than the calls that make it.
//
// Adds:    put, take (at most an eighth too long), take_near (to be made longer or shorter), and what to unmap: at a tick of the
//          purge clock, or when memory is needed elsewhere.
// Keeps:   at most `slots` mappings and `limit` bytes; none through two ticks.
// Threads: the caller holds a lock; `bytes` any.
// Cost:    a look at 16 entries.
#pragma once

#include <cairn/run/huge_table.hpp>

namespace cairn {

class HugeCache {
public:
    static constexpr std::size_t slots = 16;
    static constexpr std::size_t limit = 256_MiB;

    /// Mappings to give back, once the lock is released.
    struct Old {
        HugeBlock blocks[slots];
        std::size_t count = 0;
    };

    /// False when there is no room.
    bool put(const HugeBlock &dead) {
        if (bytes() + dead.bytes > limit) {
            return false;
        }
        for (Entry &entry : entries_) {
            if (entry.block.memory == nullptr) {
                entry = {dead, 0};
                bytes_.store(bytes() + dead.bytes, std::memory_order_relaxed);
                return true;
            }
        }
        return false;
    }

    /// The best fit.
    bool take(std::size_t bytes, HugeBlock &out) {
        return take_if(bytes, out, [=](std::size_t has) { return has >= bytes && has - bytes <= bytes / 8; });
    }

    /// The nearest that is a quarter as long to four times as long.
    bool take_near(std::size_t bytes, HugeBlock &out) {
        return take_if(bytes, out, [=](std::size_t has) { return has >= bytes / 4 && has / 4 <= bytes; });
    }

    /// One tick: what has been here since the last one. `all`: everything.
    Old tick(bool all = false) {
        Old old;
        for (Entry &entry : entries_) {
            if (entry.block.memory != nullptr && (entry.ticks++ != 0 || all)) {
                old.blocks[old.count++] = entry.block;
                drop(entry);
            }
        }
        return old;
    }

    /// The longest mappings, until they are `wanted` bytes.
    Old evict(std::size_t wanted) {
        Old old;
        for (std::size_t gone = 0; gone < wanted;) {
            Entry *longest = &entries_[0];
            for (Entry &entry : entries_) {
                longest = entry.block.bytes > longest->block.bytes ? &entry : longest;
            }
            if (longest->block.memory == nullptr) {
                break;
            }
            gone += longest->block.bytes;
            old.blocks[old.count++] = longest->block;
            drop(*longest);
        }
        return old;
    }

    /// In the child of a fork: a thread that is not there may have been between an entry and the sum.
    void repair_after_fork() {
        std::size_t sum = 0;
        for (const Entry &entry : entries_) {
            sum += entry.block.memory != nullptr ? entry.block.bytes : 0;
        }
        bytes_.store(sum, std::memory_order_relaxed);
    }

    std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

private:
    struct Entry {
        HugeBlock block;
        unsigned ticks = 0;
    };

    template <class Serves>
    bool take_if(std::size_t bytes, HugeBlock &out, Serves serves) {
        const auto off = [=](std::size_t has) { return has > bytes ? has - bytes : bytes - has; };
        Entry *best = nullptr;
        for (Entry &entry : entries_) {
            if (entry.block.memory != nullptr && serves(entry.block.bytes) &&
                (best == nullptr || off(entry.block.bytes) < off(best->block.bytes))) {
                best = &entry;
            }
        }
        if (best == nullptr) {
            return false;
        }
        out.memory = best->block.memory;
        out.bytes = best->block.bytes;
        drop(*best);
        return true;
    }

    void drop(Entry &entry) {
        bytes_.store(bytes() - entry.block.bytes, std::memory_order_relaxed);
        entry.block = {};
    }

    Entry entries_[slots]{};
    std::atomic<std::size_t> bytes_{0}; ///< relaxed: a hint without the lock, exact under it
};

} // namespace cairn
