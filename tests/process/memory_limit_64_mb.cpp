// SPDX-License-Identifier: MIT
// ulimit-v: 65536
//
// In an address space of 64 MB: the program works; at the limit every entry point answers NULL and ENOMEM,
// and keeps what it was given; smaller requests still work; what is freed can be had again.
#include "process_test.hpp"

#include <cerrno>
#include <malloc.h>

using namespace process_test;

struct Node {
    Node *next;
};

/// Allocates until there is nothing more. How many blocks that were.
static std::size_t fill(Node *&list, std::size_t size) {
    std::size_t count = 0;
    errno = 0;
    while (auto *node = static_cast<Node *>(malloc(size))) {
        std::memset(static_cast<void *>(node), 0x5a, size < 4096 ? size : 4096);
        node->next = list;
        list = node;
        ++count;
    }
    CHECK(errno == ENOMEM);
    return count;
}

static void drain(Node *&list) {
    while (list != nullptr) {
        Node *const node = list;
        list = node->next;
        free(node);
    }
}

static bool refused(void *p) {
    const bool answer = p == nullptr && errno == ENOMEM;
    errno = 0;
    return answer;
}

static void every_entry_point_refuses(std::size_t size, Node *block) {
    errno = 0;
    CHECK(refused(malloc(size)));
    CHECK(refused(calloc(1, size)));
    CHECK(refused(calloc(size, 1)));
    CHECK(refused(realloc(nullptr, size)));
    CHECK(refused(reallocarray(nullptr, 1, size)));
    CHECK(refused(aligned_alloc(64, size)));
    CHECK(refused(memalign(128, size)));
    CHECK(refused(valloc(size)));
    CHECK(refused(pvalloc(size)));
    void *out = block;
    CHECK(posix_memalign(&out, 64, size) == ENOMEM);
    CHECK(out == block && errno == 0);
    Node *const next = block->next;
    CHECK(refused(realloc(opaque(block), 64 * size)));
    CHECK(refused(reallocarray(opaque(block), 64, size)));
    CHECK(block->next == next);
}

int main() {
    for (const std::size_t size :
         {std::size_t{64}, std::size_t{1000}, std::size_t{20000}, 200 * KiB, 5 * MiB, 18 * MiB}) {
        Node *list = nullptr;
        const std::size_t count = fill(list, size);
        CHECK(count * size > 16 * MiB);
        Node *pages = nullptr; // what valloc and pvalloc round small sizes up to
        fill(pages, 4 * KiB);
        every_entry_point_refuses(size, list);
        drain(pages);
        if (size >= MiB) {
            void *const smaller = malloc(64);
            CHECK(smaller != nullptr);
            free(smaller);
        }

        Node *const first = list;
        list = first->next;
        free(first);
        void *const again = malloc(size);
        CHECK(again != nullptr);
        free(again);

        drain(list);
        const std::size_t second = fill(list, size);
        if (second < count - count / 20) {
            dprintf(2, "size %zu: %zu blocks, then %zu\n", size, count, second);
        }
        CHECK(second >= count - count / 20);
        drain(list);
        dprintf(1, "size %zu: %zu blocks\n", size, count);
    }
}
