// SPDX-License-Identifier: MIT
//
// The kernel charges private writable mappings in full and refuses what goes beyond, as in overcommit mode 2, here to
// this process alone (RLIMIT_DATA): what is granted is used, the rest is NULL and ENOMEM, smaller requests go on, and
// what is freed can be had again in another size.
#include "process_test.hpp"

#include <cerrno>
#include <sys/resource.h>

using namespace process_test;

int main() {
    constexpr std::size_t bytes = 96 * MiB;
    const rlimit limit{bytes, bytes};
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    struct Node {
        Node *next;
    };
    for (const std::size_t size : {std::size_t{64}, 3000 * KiB, std::size_t{1000}, 20 * MiB, 100 * KiB}) {
        Node *list = nullptr;
        std::size_t count = 0;
        errno = 0;
        while (auto *const node = static_cast<Node *>(malloc(size))) {
            node->next = list;
            list = node;
            ++count;
        }
        CHECK(errno == ENOMEM);
        dprintf(1, "%zu bytes: %.1f MiB of %.1f\n", size, mebibytes(count * size), mebibytes(bytes));
        CHECK(count * size >= bytes / 3);
        void *const smaller = malloc(size / 64);
        // What is left may be less than a superblock, where it is not more than half of such a block.
        CHECK(smaller != nullptr || size < MiB);
        free(smaller);
        while (list != nullptr) {
            Node *const next = list->next;
            free(list);
            list = next;
        }
    }
}
