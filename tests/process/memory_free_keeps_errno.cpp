// SPDX-License-Identifier: MIT
//
// free keeps errno, on its slow ways as well: remote, large, huge and beyond what is cached of it, with so
// much free memory about that the purger is woken, and of a null pointer.
#include "process_test.hpp"

#include <cerrno>

using namespace process_test;

static void free_keeping(void *p) {
    errno = 12345;
    free(p);
    CHECK(errno == 12345);
}

int main() {
    free_keeping(nullptr);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{64}, std::size_t{20000}, MiB, 16 * MiB, 20 * MiB, 300 * MiB}) {
        void *const p = malloc(size);
        CHECK(p != nullptr);
        free_keeping(p);
        void *const q = malloc(size);
        in_thread([&] { free_keeping(q); });
    }
    constexpr int many = 200;
    static void *blocks[many];
    for (void *&p : blocks) { // 200 MiB, touched: the purger has work
        p = malloc(MiB);
        std::memset(p, 1, MiB);
    }
    for (void *p : blocks) {
        free_keeping(p);
    }
    for (int i = 0; i < 20; ++i) { // more mappings than are cached
        blocks[i] = malloc(40 * MiB);
    }
    for (int i = 0; i < 20; ++i) {
        free_keeping(blocks[i]);
    }
}
