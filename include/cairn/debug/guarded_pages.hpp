// SPDX-License-Identifier: MIT
//
// GuardedPages: a mapping for each block, which ends where a page begins that nobody may touch.
//
// Adds:    malloc, free, memalign, malloc_zeroed, reallocate, getSize (what was asked for last). A write past the
//          block's last 16 bytes faults at once, one within them is found at free; frees of what is no block, or no
//          more, are found; and what is not freed when the heap is destroyed, if the policy asks for leaks.
// Needs:   nothing below; keeps its table apart from the blocks.
// Keeps:   freed blocks are forbidden, and unmapped when Held more were freed or memory is out: until then a use of
//          them faults.
// Threads: one at a time.
// Errors:  nullptr when the kernel refuses the mapping, but for a block that gets shorter: that stays where it is, its
//          end away from the guard. Where the kernel allows no more mappings, blocks have no guards, and the addresses
//          of freed ones between others stay in use, without pages, until the heap is destroyed.
// Cost:    three mappings and six system calls a block, and up to a page: for large blocks.
// Source:  Perens, Electric Fence (1987), here for large blocks only.
#pragma once

#include <cairn/debug/address_map.hpp>
#include <cairn/debug/patterns.hpp>
#include <cairn/debug/quarantine.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn {

template <FaultPolicy Policy = StopAtFault, std::size_t Held = 64>
    requires(Held > 0)
class GuardedPagesHeap {
public:
    static constexpr std::size_t alignment = quantum;

    GuardedPagesHeap() = default;
    GuardedPagesHeap(const GuardedPagesHeap &) = delete;
    GuardedPagesHeap &operator=(const GuardedPagesHeap &) = delete;
    ~GuardedPagesHeap() {
        if constexpr (Policy::leaks) {
            table_.for_each([](const Entry &entry) {
                if (!entry.value.held) {
                    Policy::found(
                        {Fault::leaked, reinterpret_cast<const void *>(entry.address()), entry.value.size});
                }
            });
        }
    }

    void *malloc(std::size_t size) { return memalign(alignment, size); }
    void *malloc_zeroed(std::size_t size) { return malloc(size); }

    void *memalign(std::size_t wanted, std::size_t size) {
        const std::size_t page = platform::vm::page_size();
        wanted = std::max(wanted, alignment);
        const std::size_t slack = wanted > page ? wanted : 0;
        if (size > max_size_ || slack > max_size_) {
            return nullptr;
        }
        const std::size_t bytes = align_up(std::max<std::size_t>(size, 1), page) + slack + 2 * page;
        Entry *entry = map(bytes);
        if (entry == nullptr && let_held_go()) {
            entry = map(bytes);
        }
        if (entry == nullptr) {
            return nullptr;
        }
        char *const from = entry->value.from;
        platform::vm::forbid(from, page);
        platform::vm::forbid(from + bytes - page, page);
        const std::uintptr_t last = address_of(from) + bytes - page - std::max<std::size_t>(size, 1);
        entry->value = Large{size, from, bytes, false};
        table_.insert(entry, align_down(last, wanted));
        return reinterpret_cast<void *>(entry->address());
    }

    void free(void *p) {
        Entry *const entry = live(p, Fault::invalid_free);
        if (entry == nullptr) {
            return;
        }
        Large &block = entry->value;
        const auto room = static_cast<std::size_t>(block.from + block.bytes - static_cast<char *>(p));
        const std::size_t end = std::min(room - platform::vm::page_size(), block.size + looked_at_);
        const std::size_t offset = debug::first_other(p, block.size, end, 0);
        if (offset != end) {
            Policy::found({Fault::written_behind_end, p, block.size, offset});
        }
        block.held = true;
        platform::vm::forbid(block.from, block.bytes);
        platform::vm::purge(block.from, block.bytes);
        if (void *const oldest = held_.hold(p)) {
            let_go(oldest);
        }
    }

    void *reallocate(void *p, std::size_t size) {
        Entry *const entry = live(p, Fault::invalid_free);
        if (entry == nullptr) {
            return nullptr;
        }
        const std::size_t had = entry->value.size;
        void *const moved = malloc(size);
        if (moved != nullptr) {
            std::memcpy(moved, p, std::min(size, had));
            free(p);
        } else if (size <= had) {
            std::memset(static_cast<char *>(p) + size, 0, had - size);
            entry->value.size = size;
            return p;
        }
        return moved;
    }

    /// For who is out of memory: unmaps what is held. False if nothing is.
    bool let_held_go() {
        return held_.let_all_go([this](void *p) { let_go(p); });
    }

    bool is_live(const void *p) const {
        const Entry *const entry = table_.at(address_of(p));
        return entry != nullptr && !entry->value.held;
    }

    std::size_t getSize(const void *p) const {
        const Entry *const entry = live(p, Fault::invalid_use);
        return entry == nullptr ? 0 : entry->value.size;
    }

private:
    struct Large {
        std::size_t size = 0;
        char *from = nullptr; ///< the mapping, with its guards
        std::size_t bytes = 0;
        bool held = false; ///< freed
    };
    using Entry = typename debug::AddressMap<Large>::Entry;

    static constexpr std::size_t max_size_ = SIZE_MAX / 4;
    static constexpr std::size_t looked_at_ =
        4096; ///< behind the end: a block of large alignment has much there

    /// The live block at p; else the policy is told what p is, and there is none.
    Entry *live(const void *p, Fault otherwise) const {
        Entry *const entry = table_.at_or_below(address_of(p));
        Finding finding{otherwise, p};
        if (entry != nullptr) {
            const Large &block = entry->value;
            const std::size_t offset = address_of(p) - entry->address();
            if (offset == 0 && !block.held) {
                return entry;
            }
            if (offset < std::max<std::size_t>(block.size, 1) && otherwise == Fault::invalid_free) {
                finding = {block.held ? Fault::multiple_free : Fault::interior_free,
                           reinterpret_cast<const void *>(entry->address()), block.size, offset};
            }
        }
        Policy::found(finding);
        return nullptr;
    }

    Entry *map(std::size_t bytes) {
        Entry *const entry = table_.make();
        if (entry == nullptr) {
            return nullptr;
        }
        entry->value.from = static_cast<char *>(mappings_.malloc(bytes));
        if (entry->value.from == nullptr) {
            table_.drop(entry);
            return nullptr;
        }
        return entry;
    }

    void let_go(void *p) {
        Entry *const entry = table_.at(address_of(p));
        mappings_.free(entry->value.from);
        table_.remove(entry);
    }

    MmapHeap mappings_; ///< blocks with their guards
    debug::AddressMap<Large> table_;
    debug::Quarantine<Held> held_;
};

} // namespace cairn
