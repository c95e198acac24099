// SPDX-License-Identifier: MIT
//
// Block table: which blocks of a heap are live, which were freed, and whether what happens to them makes sense.
//
// Adds:    admit a block that was handed out, claim one that is freed, hold freed ones back for a while.
// Needs:   memory of its own (AddressMap); a lock.
// Keeps:   blocks in use never overlap. What is known of a freed block is kept until its memory is handed out again.
// Threads: any.
// Errors:  the policy is told of what makes no sense, with the lock not held.
// Cost:    the lock and a path through a tree; 48 bytes a block.
#pragma once

#include <cairn/debug/address_map.hpp>
#include <cairn/debug/finding.hpp>
#include <cairn/debug/quarantine.hpp>
#include <cairn/sync/across_fork.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn::debug {

enum class BlockState : unsigned char {
    live, ///< in use by the layers above
    held, ///< freed by them, not yet by us
    free  ///< the heap below may use it
};

struct Block {
    std::size_t size = 0;   ///< that was asked for
    std::size_t extent = 0; ///< with what the check has added; not 0
    BlockState state = BlockState::free;
};

/// Up to Held freed blocks are held back.
template <FaultPolicy Policy, std::size_t Held, class L>
class BlockTable {
public:
    using Entry = typename AddressMap<Block>::Entry;

    /// An entry for a block that is going to be handed out; nullptr: out of memory.
    Entry *make() {
        const sync::Guard hold(lock_);
        return map_.make();
    }
    void drop(Entry *entry) {
        const sync::Guard hold(lock_);
        map_.drop(entry);
    }

    /// Nothing comes from the heap below. A block that was claimed for another one is live as before.
    void undo(Entry *entry, const void *claimed = nullptr) {
        drop(entry);
        change(claimed, BlockState::free, BlockState::live);
    }

    /// A block comes from the heap below.
    void admit(Entry *entry, const void *p, std::size_t size, std::size_t extent) {
        const std::uintptr_t start = address_of(p);
        Finding finding{Fault::overlapping, nullptr};
        {
            const sync::Guard hold(lock_);
            while (Entry *const other = overlapped(start, extent)) {
                if (other->value.state != BlockState::free) {
                    const bool same = other->address() == start;
                    finding = {same ? Fault::handed_out_twice : Fault::overlapping, pointer_to(other),
                               other->value.size, start - other->address()};
                }
                map_.remove(other);
            }
            entry->value = Block{size, extent, BlockState::live};
            map_.insert(entry, start);
        }
        if (finding.block != nullptr) {
            Policy::found(finding);
        }
    }

    /// A live block is to be freed. Its state changes, so that of two who free it only one is told the block; the
    /// other gets one of extent 0.
    Block claim(const void *p, BlockState next) {
        Finding finding{Fault::invalid_free, p};
        {
            const std::uintptr_t address = address_of(p);
            const sync::Guard hold(lock_);
            Entry *const entry = map_.at_or_below(address);
            if (entry != nullptr && address - entry->address() < entry->value.extent) {
                Block &block = entry->value;
                const std::size_t offset = address - entry->address();
                if (offset == 0 && block.state == BlockState::live) {
                    block.state = next;
                    return block;
                }
                if (offset == 0) {
                    finding = {Fault::multiple_free, p, block.size};
                } else if (block.state == BlockState::live) {
                    finding = {Fault::interior_free, pointer_to(entry), block.size, offset};
                }
            }
        }
        Policy::found(finding);
        return {};
    }

    /// A block changes its state, if it is still in the state `from`.
    Block change(const void *p, BlockState from, BlockState to) {
        const sync::Guard hold(lock_);
        Entry *const entry = map_.at(address_of(p));
        if (entry == nullptr || entry->value.state != from) {
            return {};
        }
        entry->value.state = to;
        return entry->value;
    }

    /// Holds a freed block back, and lets go of the oldest one, if there are Held of them.
    void *hold_back(void *p) {
        const sync::Guard hold(lock_);
        return held_.hold(p);
    }

    /// The live block that starts at p, or one of extent 0.
    Block live(const void *p) const {
        const sync::Guard hold(lock_);
        Entry *const entry = map_.at(address_of(p));
        return entry != nullptr && entry->value.state == BlockState::live ? entry->value : Block{};
    }

    /// f(p, block) for each, the lock held.
    template <class F>
    void for_each(F f) const {
        const sync::Guard hold(lock_);
        map_.for_each([&](const Entry &entry) { f(pointer_to(&entry), entry.value); });
    }

    void clear() {
        const sync::Guard hold(lock_);
        map_.clear();
        held_ = {};
    }

    void lock_all() { sync::hold_across_fork(lock_); }
    void unlock_all(sync::AfterFork) { sync::let_go_after_fork(lock_); }

private:
    static void *pointer_to(const Entry *entry) { return reinterpret_cast<void *>(entry->address()); }

    Entry *overlapped(std::uintptr_t start, std::size_t extent) const {
        Entry *const before = map_.at_or_below(start);
        if (before != nullptr && start - before->address() < before->value.extent) {
            return before;
        }
        Entry *const after = map_.at_or_above(start);
        return after != nullptr && after->address() - start < extent ? after : nullptr;
    }

    AddressMap<Block> map_;
    Quarantine<Held == 0 ? 1 : Held> held_;
    mutable L lock_;
};

} // namespace cairn::debug
