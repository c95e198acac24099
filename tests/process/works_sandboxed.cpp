// SPDX-License-Identifier: MIT
// env: CAIRN_OPTIONS=purge_delay:0
//
// In sandboxes that forbid a system call that an allocator may want, answering as such sandboxes do: threads,
// remote frees, all kinds of sizes, clean calloc, moving realloc, trimming. Each sandbox holds from the start of
// its process, as the program starts itself anew in it.
#include "works_filter.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

struct Sandbox {
    const char *name;
    long forbidden[2];
    int error;
};
constexpr Sandbox sandboxes[] = {
    {"membarrier EPERM", {SYS_membarrier, -1}, EPERM},
    {"membarrier ENOSYS", {SYS_membarrier, -1}, ENOSYS},
    {"madvise EPERM", {SYS_madvise, -1}, EPERM},
    {"madvise ENOSYS", {SYS_madvise, -1}, ENOSYS},
    {"mincore EPERM", {SYS_mincore, -1}, EPERM},
    {"mremap ENOSYS", {SYS_mremap, -1}, ENOSYS},
    {"getrandom ENOSYS", {SYS_getrandom, -1}, ENOSYS},
    {"prctl, prlimit EPERM", {SYS_prctl, SYS_prlimit64}, EPERM},
    {"rseq, getcpu ENOSYS", {SYS_rseq, SYS_getcpu}, ENOSYS},
};

constexpr std::size_t sizes[] = {8, 100, 1000, 20000, 100000, 3 * MiB, 20 * MiB};

void every_kind_of_size() {
    for (const std::size_t size : sizes) {
        for (int round = 0; round < 3; ++round) {
            auto *p = static_cast<unsigned char *>(calloc(1, size));
            CHECK(p != nullptr);
            for (std::size_t i = 0; i < size; ++i) {
                CHECK(p[i] == 0);
            }
            std::memset(p, 0xa5, size);
            p = static_cast<unsigned char *>(realloc(p, 2 * size + 1));
            CHECK(p != nullptr && p[0] == 0xa5 && p[size - 1] == 0xa5);
            std::memset(p, 0xa5, 2 * size + 1);
            free(p);
            malloc_trim(0);
        }
    }
}

/// Each thread frees what another one allocates.
void pass_blocks_on() {
    static void *blocks[4][20000];
    in_threads(4, [](unsigned i) {
        for (void *&p : blocks[i]) {
            p = malloc(1 + static_cast<std::size_t>(&p - blocks[i]) % 500);
            CHECK(p != nullptr);
        }
    });
    in_threads(4, [](unsigned i) {
        for (void *&p : blocks[(i + 1) % 4]) {
            free(p);
        }
        void *const p = malloc(64);
        CHECK(p != nullptr);
        free(p);
    });
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 2) {
        every_kind_of_size();
        pass_blocks_on();
        every_kind_of_size();
        return 0;
    }
    for (const Sandbox &sandbox : sandboxes) {
        Filter filter;
        for (const long call : sandbox.forbidden) {
            filter.deny(call, sandbox.error);
        }
        const int status = filter.run_anew(argv, sandbox.name);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            return 77;
        }
        if (status != 0) {
            dprintf(2, "with %s: wait status %#x\n", sandbox.name, static_cast<unsigned>(status));
            return 1;
        }
    }
}
