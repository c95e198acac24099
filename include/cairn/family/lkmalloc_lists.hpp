// SPDX-License-Identifier: MIT
//
// Lists of free blocks: doubly linked through the blocks, in one of two orders.
//
// Adds:    LastFreedFirst, LKmalloc's: what was freed last is handed out first, in lists of many sizes too. BySize,
//          Lea's: the shortest first, among equals the one that was freed first. In a list of one size that is a queue.
// Needs:   tags, which tell the lengths; room for two pointers in a block.
// Keeps:   a block can be taken out in constant time.
// Threads: the caller holds the list's lock, but for `seems_empty`.
// Cost:    some instructions. BySize walks past the longer blocks when it takes one in.
// Source:  LKmalloc, section 6, A and C: which of DLmalloc's orders it kept and which not.
#pragma once

#include <cairn/family/lkmalloc_tags.hpp>

namespace cairn::lkmalloc {

struct Node {
    Node *next;
    Node *previous;

    std::size_t size() const { return header_of(reinterpret_cast<const char *>(this)).size(); }
};
inline constexpr std::size_t smallest_payload = sizeof(Node);

/// What both orders have in common.
class LinkedBlocks {
public:
    /// relaxed: a hint for who looks for a list with blocks; pairs with the stores below.
    bool seems_empty() const { return first_.load(std::memory_order_relaxed) == nullptr; }

    /// The first block of the list that has at least `size` bytes, or nullptr.
    Node *first_fit(std::size_t size) const {
        Node *node = first();
        while (node != nullptr && node->size() < size) {
            node = node->next;
        }
        return node;
    }

    template <class F>
    void for_each(F f) const {
        for (Node *node = first(); node != nullptr; node = node->next) {
            f(node);
        }
    }

protected:
    /// relaxed: the caller holds the lock.
    Node *first() const { return first_.load(std::memory_order_relaxed); }
    void set_first(Node *node) { first_.store(node, std::memory_order_relaxed); }

    /// Between two that stand side by side, or at an end.
    void link(Node *node, Node *previous, Node *next) {
        node->next = next;
        node->previous = previous;
        if (next != nullptr) {
            next->previous = node;
        }
        if (previous != nullptr) {
            previous->next = node;
        } else {
            set_first(node);
        }
    }

    void unlink(const Node *node) {
        if (node->next != nullptr) {
            node->next->previous = node->previous;
        }
        if (node->previous != nullptr) {
            node->previous->next = node->next;
        } else {
            set_first(node->next);
        }
    }

private:
    std::atomic<Node *> first_{nullptr};
};

class LastFreedFirst : public LinkedBlocks {
public:
    void put(Node *node, std::size_t) { link(node, nullptr, first()); }
    void remove(const Node *node) { unlink(node); }
};

class BySize : public LinkedBlocks {
public:
    void put(Node *node, std::size_t size) {
        Node *previous = last_;
        while (previous != nullptr && previous->size() > size) {
            previous = previous->previous;
        }
        Node *const next = previous != nullptr ? previous->next : first();
        link(node, previous, next);
        last_ = next == nullptr ? node : last_;
    }

    void remove(const Node *node) {
        last_ = node == last_ ? node->previous : last_;
        unlink(node);
    }

private:
    Node *last_ = nullptr;
};

} // namespace cairn::lkmalloc
