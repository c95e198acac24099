// SPDX-License-Identifier: MIT
//
// Mapping table: a hash table with the length of each mapping, outside of the mappings.
//
// Adds:    the length by start address; a walk over all mappings, which may strike them out.
// Needs:   no heap: the table is a mapping of its own.
// Keeps:   at most half of the slots are in use, so that a look-up is short. A failed `put` changes nothing.
// Threads: one at a time.
// Cost:    a probe or two; a page at first, doubled and refilled when half full.
#pragma once

#include <cairn/platform/random.hpp>
#include <cairn/platform/vm.hpp>

namespace cairn {

class MappingTable {
public:
    MappingTable() = default;
    MappingTable(const MappingTable &) = delete;
    MappingTable &operator=(const MappingTable &) = delete;
    ~MappingTable() { release(); }

    /// Records a mapping whose start is not in the table. False when out of memory.
    bool put(const void *start, std::size_t length) {
        if (2 * (taken_ + 1) > slots_ && !grow()) {
            return false;
        }
        place(Slot{address_of(start), length});
        ++taken_;
        return true;
    }

    /// The length of a mapping, 0 if there is none at `start`.
    std::size_t length_of(const void *start) const {
        return slots_ == 0 ? 0 : table_[find(address_of(start))].length;
    }

    void remove(const void *start) {
        std::size_t hole = find(address_of(start));
        // An entry that lies behind the hole because of a collision moves into it, or a search would end at the hole.
        for (std::size_t i = next(hole); table_[i].start != 0; i = next(i)) {
            const std::size_t home = home_of(table_[i].start);
            if (((i - home) & (slots_ - 1)) >= ((i - hole) & (slots_ - 1))) {
                table_[hole] = table_[i];
                hole = i;
            }
        }
        table_[hole] = Slot{};
        --taken_;
    }

    /// Calls f(start, length) for each mapping; f does not change the table, but it may strike mappings out.
    template <class F>
    void for_each(F f) const {
        for (std::size_t i = 0; i < slots_; ++i) {
            if (table_[i].length != 0) {
                f(reinterpret_cast<void *>(table_[i].start), table_[i].length);
            }
        }
    }

    /// Takes a mapping out of the walks and look-ups; its slot stays in use until release().
    void strike_out(const void *start) { table_[find(address_of(start))].length = 0; }

    /// Removes all entries and unmaps the table.
    void release() {
        if (slots_ != 0) {
            platform::vm::unmap(table_, slots_ * sizeof(Slot));
        }
        table_ = nullptr;
        slots_ = 0;
        taken_ = 0;
    }

private:
    struct Slot {
        std::uintptr_t start = 0;
        std::size_t length = 0;
    };
    static_assert(is_power_of_two(sizeof(Slot)), "pages hold a power of two of slots");

    std::size_t next(std::size_t i) const { return (i + 1) & (slots_ - 1); }

    std::size_t home_of(std::uintptr_t start) const {
        return static_cast<std::size_t>(platform::mix(start)) & (slots_ - 1);
    }

    /// The slot that holds `start`, or the empty slot that ends the search for it.
    std::size_t find(std::uintptr_t start) const {
        std::size_t i = home_of(start);
        while (table_[i].start != start && table_[i].start != 0) {
            i = next(i);
        }
        return i;
    }

    void place(Slot slot) { table_[find(slot.start)] = slot; }

    bool grow() {
        const std::size_t old_slots = slots_;
        const std::size_t bytes = old_slots == 0 ? platform::vm::page_size() : 2 * old_slots * sizeof(Slot);
        auto *fresh = static_cast<Slot *>(platform::vm::map(bytes));
        if (fresh == nullptr) {
            return false;
        }
        Slot *const old = table_;
        table_ = fresh;
        slots_ = bytes / sizeof(Slot);
        for (std::size_t i = 0; i < old_slots; ++i) {
            if (old[i].start != 0) {
                place(old[i]);
            }
        }
        if (old_slots != 0) {
            platform::vm::unmap(old, old_slots * sizeof(Slot));
        }
        return true;
    }

    Slot *table_ = nullptr;
    std::size_t slots_ = 0;
    std::size_t taken_ = 0;
};

} // namespace cairn
