// SPDX-License-Identifier: MIT
//
// Blocks that are linked through their first word: as many as one likes, with no table beside them.
#pragma once

#include "process_test.hpp"

namespace process_test {

struct Node {
    Node *next;
};

/// Blocks of `size` bytes, each written, `total` bytes together, in front of `list`. Returns the new start.
inline Node *allocate_list(std::size_t total, std::size_t size, Node *list = nullptr) {
    for (std::size_t bytes = 0; bytes < total; bytes += size) {
        auto *const node = static_cast<Node *>(malloc(size));
        CHECK(node != nullptr);
        std::memset(static_cast<void *>(node), 1, size);
        node->next = list;
        list = node;
    }
    return list;
}

inline void free_list(Node *list) {
    while (list != nullptr) {
        Node *const node = list;
        list = node->next;
        free(node);
    }
}

} // namespace process_test
