// SPDX-License-Identifier: MIT
//
// DoublyLinked: a doubly linked list of free blocks, from which any block is removed in constant time.
//
// Adds:    insert at the end and take from the front: the block that has been free longest is reused first, as it had
//          the most time to be joined with a neighbour. remove from anywhere. A bounded search.
// Needs:   blocks with room and alignment for two pointers: the links lie in the blocks.
// Keeps:   the list has no memory of its own.
// Threads: one at a time.
// Cost:    a handful of instructions each; remove touches both neighbours in the list.
// Source:  Heap Layers, section 3.2: DLList.
#pragma once

#include <cstddef>

namespace cairn {

class DoublyLinked {
public:
    /// A block in the list has at least this many bytes.
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

    /// Removes and returns the first block; nullptr when the list is empty.
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

    /// The first block for which `fits` returns true, among the first `most` blocks; it stays in the list.
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
