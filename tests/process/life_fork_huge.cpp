// SPDX-License-Identifier: MIT
//
// Forks while a thread takes parts of cached mappings: the child's cache has nothing that is not its own.
#include "process_test.hpp"

#include <atomic>
#include <malloc.h>

using namespace process_test;

namespace {

/// In the child: everything that is cached is unmapped, and the heap still works.
void live_on(const char *kept) {
    alarm(hang_limit);
    malloc_trim(0);
    CHECK(std::strcmp(kept, "kept") == 0);
    for (const std::size_t size : {std::size_t{64}, 100 * KiB, 40 * MiB}) {
        char *const p = static_cast<char *>(malloc(size));
        CHECK(p != nullptr);
        p[0] = p[size - 1] = 1;
        free(p);
    }
    _exit(0);
}

} // namespace

int main() {
    constexpr int forks = 3000;
    constexpr double most_seconds = 20;
    char *const kept = static_cast<char *>(malloc(100));
    std::strcpy(kept, "kept");
    std::atomic<bool> over{false};
    in_threads(2, [&](unsigned i) {
        if (i == 0) {
            while (!over.load(std::memory_order_relaxed)) {
                for (const std::size_t size : {100 * MiB, 40 * MiB}) {
                    void *volatile p = malloc(size);
                    free(p);
                }
            }
            return;
        }
        const double start = seconds();
        int made = 0;
        for (; made < forks && seconds() - start < most_seconds; ++made) {
            in_child([&] { live_on(kept); });
        }
        over.store(true, std::memory_order_relaxed);
        dprintf(1, "%d children\n", made);
    });
}
