// SPDX-License-Identifier: MIT
//
// Of a burst of 512 MiB, 30 % stay live in stretches of 1 MiB: a little more than a second after the rest was
// freed, resident is at most 1.25 times live and 32 MiB.
#include "process_test.hpp"

using namespace process_test;

static std::size_t live;

static void burst(std::size_t total, std::size_t size) {
    struct Node {
        Node *next;
    };
    Node *lists[10] = {};
    const std::size_t stretch = size > MiB ? size : MiB;
    for (std::size_t bytes = 0; bytes < total; bytes += size) {
        auto *const node = static_cast<Node *>(malloc(size));
        CHECK(node != nullptr);
        std::memset(static_cast<void *>(node), 1, size);
        Node *&list = lists[bytes / stretch % 10];
        node->next = list;
        list = node;
        live += bytes / stretch % 10 < 3 ? size : 0;
    }
    for (unsigned i = 3; i < 10; ++i) {
        while (lists[i] != nullptr) {
            Node *const node = lists[i];
            lists[i] = node->next;
            free(node);
        }
    }
}

int main() {
    burst(192 * MiB, 128);
    burst(160 * MiB, 4096);
    burst(160 * MiB, 200 * KiB);
    const std::size_t promised = live + live / 4 + 32 * MiB;
    const std::size_t after = bytes_after_a_second(resident, promised);
    dprintf(1, "live %.1f MiB, peak %.1f MiB, a second after the end %.1f MiB\n", mebibytes(live),
            mebibytes(peak_resident()), mebibytes(after));
    CHECK(after <= promised);
}
