// SPDX-License-Identifier: MIT
//
// The kernel refuses every further mapping (its limit on their number, or the machine's memory): what the heap
// has is handed out, then NULL and ENOMEM; what is freed can be had again, and nothing that is live is harmed.
#include "works_filter.hpp"

using namespace process_test;

namespace {

struct Node {
    Node *next;
    std::size_t size;
};

Node *fill(std::size_t size, Node *list, std::size_t &count) {
    errno = 0;
    for (count = 0;; ++count) {
        auto *const node = static_cast<Node *>(malloc(size));
        if (node == nullptr) {
            CHECK(errno == ENOMEM);
            return list;
        }
        std::memset(static_cast<void *>(node), 0x5a, size);
        *node = {list, size};
        list = node;
    }
}

void check_and_free(Node *list) {
    while (list != nullptr) {
        Node *const node = list;
        const auto *const bytes = reinterpret_cast<const unsigned char *>(node);
        for (std::size_t i = sizeof(Node); i < node->size; ++i) {
            CHECK(bytes[i] == 0x5a);
        }
        list = node->next;
        free(node);
    }
}

} // namespace

int main() {
    void *const small = malloc(100);
    void *const huge = malloc(20 * MiB);
    CHECK(small != nullptr && huge != nullptr);
    Filter().deny(SYS_mmap, ENOMEM).deny(SYS_mremap, ENOMEM).deny(SYS_brk, ENOMEM).install();
    CHECK(realloc(huge, 200 * MiB) == nullptr);
    std::size_t first = 0;
    for (const std::size_t size : {std::size_t{5000}, std::size_t{100000}, std::size_t{64}}) {
        std::size_t count = 0;
        Node *list = fill(size, nullptr, count);
        dprintf(1, "%zu blocks of %zu\n", count, size);
        CHECK(count * size > 8 * MiB);
        if (first == 0) {
            std::size_t more = 0;
            list = fill(32, list, more);
            first = count;
        }
        check_and_free(list);
    }
    std::size_t again = 0;
    check_and_free(fill(5000, nullptr, again));
    CHECK(again > first - first / 20);
    free(huge);
    free(small);
}
