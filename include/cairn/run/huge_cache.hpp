// SPDX-License-Identifier: MIT
//
// Huge cache: freed huge mappings, and parts of them, kept for a short time: the page faults of a new mapping cost far
// more than the system calls that make it.
//
// Adds:    put, take (the rest stays cached), take_shorter (the caller lengthens it), take_at (to lengthen a block in
//          place), and the choice of what to unmap: at a tick of the purge clock, or when memory is needed elsewhere.
// Keeps:   at most `slots` pieces and `limit` bytes; no piece stays through two ticks. Adjacent pieces form a chain,
//          which is used as a whole; a chain is one mapping, because separate mappings are never adjacent (huge_guard).
// Threads: the caller holds a lock; bytes() any.
// Cost:    a search through 16 entries, and again for each piece.
#pragma once

#include <cairn/run/huge_table.hpp>

#include <algorithm>

namespace cairn {

class HugeCache {
public:
    static constexpr std::size_t slots = 16;
    static constexpr std::size_t limit = 256_MiB;

    /// Memory that the caller gives back after it has released the lock.
    struct Old {
        HugeBlock blocks[slots];
        std::size_t count = 0;
    };

    /// False when the cache is full.
    bool put(const HugeBlock &dead) {
        Entry *const entry = bytes() + dead.bytes <= limit ? entry_at(nullptr) : nullptr;
        if (entry == nullptr) {
            return false;
        }
        *entry = {dead, 0};
        bytes_.store(bytes() + dead.bytes, std::memory_order_relaxed);
        return true;
    }

    /// Takes the start of the shortest chain that is long enough.
    bool take(std::size_t bytes, HugeBlock &out) {
        return take_if(bytes, out, [=](std::size_t has) { return has >= bytes; });
    }

    /// Takes the longest chain that is shorter than `bytes`, but at least a quarter of it.
    bool take_shorter(std::size_t bytes, HugeBlock &out) {
        return take_if(bytes, out, [=](std::size_t has) { return has < bytes && has >= bytes / 4; });
    }

    /// Takes the start of the chain at `from`: `bytes` and up to an eighth more, or all of it. Returns how many.
    std::size_t take_at(const char *from, std::size_t bytes) {
        std::size_t taken = 0;
        for (Entry *piece; taken < bytes && (piece = entry_at(from + taken)) != nullptr;) {
            const std::size_t wanted = bytes - taken;
            const std::size_t part = piece->block.bytes <= wanted + bytes / 8 ? piece->block.bytes : wanted;
            shorten(*piece, part);
            // If a fork comes between the two stores, the child loses the end of the piece. In the other order the
            // piece would reach into the memory behind it.
            std::atomic_signal_fence(std::memory_order_release);
            piece->block.memory += piece->block.memory != nullptr ? part : 0;
            taken += part;
        }
        return taken;
    }

    /// One tick of the purge clock: removes what has been cached since the last one, or everything if `all`.
    Old tick(bool all = false) {
        Old old;
        for (Entry &entry : entries_) {
            if (entry.block.memory != nullptr && (entry.ticks++ != 0 || all)) {
                old.blocks[old.count++] = entry.block;
                shorten(entry, entry.block.bytes);
            }
        }
        return old;
    }

    /// Removes the ends of the longest chains, `wanted` bytes in all, rounded up to a step, but for the guards of what
    /// is left.
    Old evict(std::size_t wanted) {
        Old old;
        for (std::size_t gone = 0; gone < wanted && old.count != slots;) {
            Entry *longest = nullptr;
            std::size_t length = 0;
            for_each_chain([&](Entry &first, std::size_t has) {
                longest = has > length ? &first : longest;
                length = std::max(has, length);
            });
            if (longest == nullptr) {
                break;
            }
            Entry &last = last_of(*longest);
            std::size_t part = std::min(last.block.bytes, align_up(wanted - gone, step_));
            gone += part;
            const std::size_t left = length - part, guard = huge_length(left) - left;
            part -= left != 0 && guard < part ? guard : 0; // what is left does not end with a window
            old.blocks[old.count++] = {last.block.end() - part, part, nullptr};
            shorten(last, part);
        }
        return old;
    }

    /// In the child of a fork: another thread of the parent may have changed an entry and not the sum, or half of an
    /// entry.
    void repair_after_fork() {
        std::size_t sum = 0;
        for (Entry &entry : entries_) {
            if (entry.block.memory == nullptr || entry.block.bytes == 0) {
                entry = {};
            }
            sum += entry.block.bytes;
        }
        bytes_.store(sum, std::memory_order_relaxed);
    }

    std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t step_ = 1_MiB;

    struct Entry {
        HugeBlock block;
        unsigned ticks = 0;
    };

    /// Takes the start of the chain whose length is nearest to `bytes`, among those for which `serves` is true.
    template <class Serves>
    bool take_if(std::size_t bytes, HugeBlock &out, Serves serves) {
        std::size_t nearest = SIZE_MAX;
        for_each_chain([&](const Entry &first, std::size_t has) {
            const std::size_t off = has > bytes ? has - bytes : bytes - has;
            if (serves(has) && off < nearest) {
                nearest = off;
                out.memory = first.block.memory;
            }
        });
        if (nearest == SIZE_MAX) {
            return false;
        }
        out.bytes = take_at(out.memory, huge_length(bytes));
        return true;
    }

    template <class Visit>
    void for_each_chain(Visit visit) {
        for (Entry &first : entries_) {
            const auto precedes = [&](const Entry &other) { return other.block.end() == first.block.memory; };
            if (first.block.memory != nullptr && std::none_of(entries_, entries_ + slots, precedes)) {
                visit(first, static_cast<std::size_t>(last_of(first).block.end() - first.block.memory));
            }
        }
    }

    Entry &last_of(Entry &first) {
        Entry *last = &first;
        for (Entry *next = last; next != nullptr; next = entry_at(last->block.end())) {
            last = next;
        }
        return *last;
    }

    /// The piece that starts at `memory`, or nullptr; for nullptr, an unused entry.
    Entry *entry_at(const char *memory) {
        Entry *const found = std::find_if(entries_, entries_ + slots,
                                          [=](const Entry &entry) { return entry.block.memory == memory; });
        return found != entries_ + slots ? found : nullptr;
    }

    void shorten(Entry &entry, std::size_t by) {
        bytes_.store(bytes() - by, std::memory_order_relaxed);
        entry.block.bytes -= by;
        if (entry.block.bytes == 0) {
            entry = {};
        }
    }

    Entry entries_[slots]{};
    std::atomic<std::size_t> bytes_{0}; ///< relaxed: exact with the lock held, otherwise a hint
};

} // namespace cairn
