// SPDX-License-Identifier: MIT
//
// A burst of 512 MiB, small, large and huge blocks, is freed; a little more than a second later, without any
// call in between, no more than 32 MiB are resident.
#include "process_test.hpp"

using namespace process_test;

static void burst(std::size_t total, std::size_t size) {
    struct Node {
        Node *next;
    };
    Node *list = nullptr;
    for (std::size_t bytes = 0; bytes < total; bytes += size) {
        auto *const node = static_cast<Node *>(malloc(size));
        CHECK(node != nullptr);
        std::memset(static_cast<void *>(node), 1, size);
        node->next = list;
        list = node;
    }
    while (list != nullptr) {
        Node *const node = list;
        list = node->next;
        free(node);
    }
}

int main() {
    in_threads(4, [](unsigned i) {
        constexpr std::size_t sizes[] = {100, 5000, 500 * KiB, 32 * MiB};
        burst(128 * MiB, sizes[i]);
    });
    const std::size_t peak = peak_resident();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "peak %.1f MiB, a second after the end %.1f MiB\n", mebibytes(peak), mebibytes(after));
    CHECK(peak > 128 * MiB);
    CHECK(after <= 32 * MiB);
}
