// SPDX-License-Identifier: MIT
//
// Large-block table: the large and huge blocks of a first-class heap, by their address.
//
// Adds:    insert, remove, is_node; iteration over all blocks.
// Needs:   a node for each block, from the caller. A node is a small block of the same heap and not a header before the
//          block: so the block keeps its alignment, and free() of a wrong pointer looks the pointer up and does not
//          read memory before it.
// Threads: the caller holds the heap's lock.
// Cost:    a hash look-up in 256 buckets; 16 bytes a block.
#pragma once

#include "process_heap.hpp"

#include <cstring>

namespace cairn::process_heap {

/// The node of a block; it begins with the address of the block (is_node).
struct LargeBlock {
    void *memory;
    LargeBlock *next;
};

class LargeBlockTable {
public:
    /// `node->memory` is not in the table.
    void insert(LargeBlock *node) {
        LargeBlock **const link = link_to(node->memory);
        node->next = nullptr;
        *link = node;
    }

    /// Takes the node of the block at p out of the table; nullptr if there is none.
    LargeBlock *remove(const void *p) {
        LargeBlock **const link = link_to(p);
        LargeBlock *const node = *link;
        if (node != nullptr) {
            *link = node->next;
        }
        return node;
    }

    /// Whether p, a live small block of a node's size, is a node of the table. The program may know the address of a
    /// node: a block of the program may have been there before.
    bool is_node(const void *p) {
        void *memory = nullptr;
        std::memcpy(&memory, p, sizeof memory);
        return address_of(memory) % platform::cache_line == 0 && *link_to(memory) == p;
    }

    /// Calls f(node) for every node; f may free the block of the node, but not the node.
    template <class F>
    void for_each(F &&f) {
        for (LargeBlock *node : buckets_) {
            for (; node != nullptr; node = node->next) {
                f(node);
            }
        }
    }

private:
    static constexpr std::size_t bucket_count_ = 256;

    /// The link that refers to the node of the block at p, or the empty link at the end of its bucket.
    LargeBlock **link_to(const void *p) {
        LargeBlock **link = &buckets_[address_of(p) / slot_size % bucket_count_];
        while (*link != nullptr && (*link)->memory != p) {
            link = &(*link)->next;
        }
        return link;
    }

    LargeBlock *buckets_[bucket_count_] = {};
};

} // namespace cairn::process_heap
