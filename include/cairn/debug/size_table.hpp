// SPDX-License-Identifier: MIT
//
// SizeTableHeap: remembers what was asked for, apart from the blocks: the heap below sees the same requests as without.
//
// Adds:    getSize is what was asked for, to the byte.
// Needs:   a heap. Memory mapped for the table.
// Keeps:   every size and every pointer; the other capabilities of the heap below.
// Threads: those of the heap below.
// Errors:  those of the heap below, also exceptions; nullptr also when the table has no memory. getSize of no live
//          block is 0.
// Cost:    a lock that all threads meet at, and a path through a tree; 32 bytes a block, not in the heap.
// Source:  ours; SizeHeap of Heap Layers, section 6.1, answers the same question with a header, which changes sizes.
#pragma once

#include <cairn/core/at_end.hpp>
#include <cairn/debug/address_map.hpp>
#include <cairn/layer/region_end.hpp>
#include <cairn/sync/across_fork.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

template <Heap Super, LockType L = RankedLock<sync::Rank::debug>>
class SizeTableHeap {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool contiguous = ContiguousHeap<Super>;

    void *malloc(std::size_t size) {
        return enter(size, [&] { return heap_.malloc(size); });
    }

    void free(void *p) {
        if (p != nullptr) {
            drop(take_out(p));
            heap_.free(p);
        }
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return enter(size, [&] { return heap_.memalign(wanted, size); });
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return enter(size, [&] { return heap_.malloc_zeroed(size); });
    }

    void *calloc(std::size_t count, std::size_t size)
        requires ArrayHeap<Super>
    {
        return enter(count * size, [&] { return heap_.calloc(count, size); });
    }

    /// While the heap below moves it, the block is in no table: another thread may get its old place.
    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        if (p == nullptr) {
            return enter(size, [&] { return heap_.reallocate(nullptr, size); });
        }
        Entry *const entry = take_out(p);
        const std::uintptr_t before = address_of(p);
        void *moved = nullptr;
        const AtEnd known([&] {
            if (moved == nullptr && size == 0) {
                drop(entry);
            } else if (entry != nullptr) {
                put(entry, moved == nullptr ? before : address_of(moved),
                    moved == nullptr ? entry->value : size);
            }
        });
        return moved = heap_.reallocate(p, size);
    }

    std::size_t getSize(const void *p) const {
        const sync::Guard hold(lock_);
        const Entry *const entry = sizes_.at(address_of(p));
        return entry == nullptr ? 0 : entry->value;
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return heap_.owns(p);
    }

    std::size_t remaining() const
        requires BoundedHeap<Super>
    {
        return heap_.remaining();
    }

    void clear()
        requires ClearableHeap<Super>
    {
        heap_.clear();
        const sync::Guard hold(lock_);
        sizes_.clear();
    }

    void lock_all() {
        sync::lock_heap_across_fork(heap_);
        sync::hold_across_fork(lock_);
    }
    void unlock_all(sync::AfterFork side) {
        sync::let_go_after_fork(lock_);
        sync::unlock_heap_after_fork(heap_, side);
    }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        heap_.begin_in_child();
    }

private:
    using Entry = debug::AddressMap<std::size_t>::Entry;

    template <class F>
    void *enter(std::size_t size, F from_below) {
        Entry *const entry = make();
        void *p = nullptr;
        const AtEnd known([&] { p != nullptr ? put(entry, address_of(p), size) : drop(entry); });
        return p = entry == nullptr ? nullptr : from_below();
    }

    Entry *make() {
        const sync::Guard hold(lock_);
        return sizes_.make();
    }

    void drop(Entry *entry) {
        if (entry != nullptr) {
            const sync::Guard hold(lock_);
            sizes_.drop(entry);
        }
    }

    /// A block of nothing may have the address of another.
    void put(Entry *entry, std::uintptr_t address, std::size_t size) {
        const sync::Guard hold(lock_);
        if (Entry *const other = sizes_.at(address)) {
            sizes_.remove(other);
        }
        entry->value = size;
        sizes_.insert(entry, address);
    }

    Entry *take_out(const void *p) {
        const sync::Guard hold(lock_);
        Entry *const entry = sizes_.at(address_of(p));
        if (entry != nullptr) {
            sizes_.take_out(entry);
        }
        return entry;
    }

    Super heap_;
    debug::AddressMap<std::size_t> sizes_;
    mutable L lock_;
};

template <class L = RankedLock<sync::Rank::debug>>
struct SizeTable {
    template <class Super>
    using on = SizeTableHeap<Super, L>;
};

} // namespace cairn
