// SPDX-License-Identifier: MIT
// ulimit-v: 98304
//
// At the limit of address space long blocks of coarse alignment, which fit into no window of the heap's, while another
// thread's mapping comes and goes: what is refused at one moment may be had at the next. Each is good, or refused.
#include "process_test.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <malloc.h>

using namespace process_test;

int main() {
    static std::atomic<bool> over{false};
    in_threads(2, [](unsigned i) {
        if (i == 0) {
            while (!over) {
                void *const p = mmap(nullptr, 60 * MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (p != MAP_FAILED) {
                    munmap(p, 60 * MiB);
                }
            }
            return;
        }
        for (int round = 0; round < 20000; ++round) {
            constexpr std::size_t alignment = 8 * MiB;
            constexpr std::size_t size = 30 * MiB;
            auto *const p = static_cast<char *>(memalign(alignment, size));
            CHECK(p != nullptr || errno == ENOMEM);
            if (p != nullptr) {
                CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
                p[0] = 1;
                p[size - 1] = 2;
                free(p);
            }
            malloc_trim(0);
            void *const next = malloc(100);
            CHECK(next != nullptr);
            free(next);
        }
        over = true;
    });
}
