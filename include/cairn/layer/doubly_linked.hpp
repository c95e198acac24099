// SPDX-License-Identifier: MIT
//
// DoublyLinked: a list of free blocks that any block can leave in constant time.
//
// Adds:    insert at the end, take from the front: the block that has been free longest comes first, and has
//          had the most time to be joined with a neighbour. remove from anywhere. A bounded search.
// Needs:   blocks with room and alignment for two pointers, in which the links lie.
// Keeps:   no memory of its own, so nothing to give back.
// Threads: one at a time.
// Cost:    a handful of instructions each; remove touches both neighbours.
// Source:  Heap Layers, section 3.2: DLList.
#pragma once

#include <cstddef>

namespace cairn {

class DoublyLinked {
public:
    /// A block that is put in has this many bytes at least.
    static constexpr std::size_t smallest = 2 * sizeof(void *);

    constexpr DoublyLinked() = default;
    DoublyLinked(const DoublyLinked &) = delete;
    DoublyLinked &operator=(const DoublyLinked &) = delete;

    bool empty() const { return first_ == nullptr; }

    void insert(void *block) {
        auto *const entry = static_cast<Entry *>(block);
        entry->next = nullptr;
        entry->before = last_;
        (last_ != nullptr ? last_->next : first_) = entry;
        last_ = entry;
    }

    /// nullptr when the list is empty.
    void *take() {
        Entry *const entry = first_;
        if (entry != nullptr) {
            remove(entry);
        }
        return entry;
    }

    void remove(void *block) {
        auto *const entry = static_cast<Entry *>(block);
        (entry->before != nullptr ? entry->before->next : first_) = entry->next;
        (entry->next != nullptr ? entry->next->before : last_) = entry->before;
    }

    /// The first of the first `most` blocks that `fits` says yes to; it stays in the list.
    template <class F>
    void *find(F fits, unsigned most) const {
        for (Entry *entry = first_; entry != nullptr && most > 0; entry = entry->next, --most) {
            if (fits(static_cast<void *>(entry))) {
                return entry;
            }
        }
        return nullptr;
    }

    /// Forgets all blocks.
    void clear() { first_ = last_ = nullptr; }

private:
    struct Entry {
        Entry *next;
        Entry *before;
    };
    static_assert(sizeof(Entry) == smallest);

    Entry *first_ = nullptr;
    Entry *last_ = nullptr;
};

} // namespace cairn
