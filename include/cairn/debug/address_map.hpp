// SPDX-License-Identifier: MIT
//
// Address map: values by address, in order, apart from the memory that the addresses are about.
//
// Adds:    the entry at or next to any address; entries that are made before they are put in, so that putting in can
//          not fail.
// Needs:   memory mapped for itself; no heap.
// Keeps:   a treap: a search tree by address that is at the same time a heap by a hash of the address, and so is as
//          deep as a random tree whatever the order of insertion.
// Threads: one at a time.
// Errors:  nullptr from make() when the kernel has no memory.
// Cost:    a path of some 2 ln(n) entries an operation; 24 bytes and the value an entry, in chunks of 64 KiB.
// Source:  Seidel and Aragon, "Randomized search trees", Algorithmica 16, 1996.
#pragma once

#include <cairn/layer/bump.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/source/mmap.hpp>

#include <new>
#include <utility>

namespace cairn::debug {

template <class Value>
class AddressMap {
public:
    class Entry {
    public:
        std::uintptr_t address() const { return address_; }
        Value value{};

    private:
        friend AddressMap;
        std::uintptr_t address_ = 0;
        Entry *below_ = nullptr;
        Entry *above_ = nullptr;
    };

    AddressMap() = default;
    AddressMap(const AddressMap &) = delete;
    AddressMap &operator=(const AddressMap &) = delete;

    /// An entry that is in no map yet.
    Entry *make() {
        void *const memory =
            dropped_ != nullptr ? std::exchange(dropped_, dropped_->below_) : memory_.malloc(sizeof(Entry));
        return memory == nullptr ? nullptr : new (memory) Entry;
    }
    void drop(Entry *entry) { entry->below_ = std::exchange(dropped_, entry); }

    /// Puts an entry in; there is none at `address`.
    void insert(Entry *entry, std::uintptr_t address) {
        entry->address_ = address;
        Entry **link = &root_;
        while (*link != nullptr && rank(*link) > rank(entry)) {
            link = side(*link, address);
        }
        Entry *rest = *link;
        *link = entry;
        Entry **below = &entry->below_;
        Entry **above = &entry->above_;
        while (rest != nullptr) {
            if (rest->address_ < address) {
                *below = rest;
                below = &rest->above_;
                rest = rest->above_;
            } else {
                *above = rest;
                above = &rest->below_;
                rest = rest->below_;
            }
        }
        *below = nullptr;
        *above = nullptr;
    }

    /// Takes an entry of this map out: it may be put in again, or dropped.
    void take_out(Entry *entry) {
        Entry **link = &root_;
        while (*link != entry) {
            link = side(*link, entry->address_);
        }
        Entry *below = entry->below_;
        Entry *above = entry->above_;
        while (below != nullptr && above != nullptr) {
            if (rank(below) > rank(above)) {
                *link = below;
                link = &below->above_;
                below = below->above_;
            } else {
                *link = above;
                link = &above->below_;
                above = above->below_;
            }
        }
        *link = below != nullptr ? below : above;
    }

    void remove(Entry *entry) {
        take_out(entry);
        drop(entry);
    }

    /// The entry with the highest address that is not above `address`, or nullptr.
    Entry *at_or_below(std::uintptr_t address) const {
        Entry *found = nullptr;
        for (Entry *entry = root_; entry != nullptr;) {
            if (entry->address_ <= address) {
                found = entry;
                entry = entry->above_;
            } else {
                entry = entry->below_;
            }
        }
        return found;
    }

    /// The entry with the lowest address that is not below `address`, or nullptr.
    Entry *at_or_above(std::uintptr_t address) const {
        Entry *found = nullptr;
        for (Entry *entry = root_; entry != nullptr;) {
            if (entry->address_ >= address) {
                found = entry;
                entry = entry->below_;
            } else {
                entry = entry->above_;
            }
        }
        return found;
    }

    Entry *at(std::uintptr_t address) const {
        Entry *const entry = at_or_below(address);
        return entry != nullptr && entry->address_ == address ? entry : nullptr;
    }

    /// f(entry) for each, in rising order; f leaves the map alone.
    template <class F>
    void for_each(F f) const {
        for (Entry *entry = at_or_above(0); entry != nullptr; entry = at_or_above(entry->address_ + 1)) {
            f(*entry);
        }
    }

    void clear() {
        root_ = nullptr;
        dropped_ = nullptr;
        memory_.clear();
    }

private:
    static std::uint64_t rank(const Entry *entry) { return platform::mix(entry->address_); }

    static Entry **side(Entry *entry, std::uintptr_t address) {
        return address < entry->address_ ? &entry->below_ : &entry->above_;
    }

    Entry *root_ = nullptr;
    Entry *dropped_ =
        nullptr; ///< a list; a Freelist would make this class another one in files with assertions
    BumpHeap<MmapHeap> memory_;
};

} // namespace cairn::debug
