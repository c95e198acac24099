// SPDX-License-Identifier: MIT
//
// Inbox table: the heaps' inboxes by the heaps' numbers.
//
// Adds:    set, get; make_room, which takes memory for numbers beyond the first 512.
// Needs:   memory from the kernel, or from free runs where the kernel has none.
// Keeps:   the memory for a group of numbers is never unmapped.
// Threads: make_room: one at a time, before set. set: before the number is used anywhere. get: any.
// Errors:  make_room: false when out of memory.
// Cost:    a load; two beyond the first 512.
#pragma once

#include <cairn/run/metadata.hpp>
#include <cairn/superblock/inbox.hpp>

#include <new>

namespace cairn {

class InboxTable {
public:
    static constexpr unsigned numbers = 1u << 16; // RemoteWord's owner field

    constexpr InboxTable() = default;

    /// Whether there is memory for the number.
    bool make_room(RunHeap &runs, unsigned number) {
        if (number < of_group_ || group(number) != nullptr) {
            return true;
        }
        void *const memory = memory_for_ever(runs, sizeof(Group));
        if (memory != nullptr) {
            groups_[number / of_group_].store(new (memory) Group, std::memory_order_relaxed);
        }
        return memory != nullptr;
    }

    /// relaxed, here and in get(): a thread that knows the number has acquired it with a remote word, or has read it
    /// under the global heap's lock; this store came before the number was in any word.
    void set(unsigned number, Inbox *inbox) { entry(number).store(inbox, std::memory_order_relaxed); }
    Inbox *get(unsigned number) { return entry(number).load(std::memory_order_relaxed); }

private:
    using Entry = std::atomic<Inbox *>;
    static constexpr unsigned of_group_ = 512;
    struct Group {
        Entry entries[of_group_]{};
    };

    Group *group(unsigned number) {
        return groups_[number / of_group_].load(std::memory_order_relaxed); // relaxed: as set()
    }
    Entry &entry(unsigned number) {
        return (number < of_group_ ? first_ : *group(number)).entries[number % of_group_];
    }

    Group first_; ///< the numbers below 512: all that most processes use
    std::atomic<Group *> groups_[numbers / of_group_]{};
};

} // namespace cairn
