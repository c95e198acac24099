// SPDX-License-Identifier: MIT
//
// A process that has grown to 48 MiB goes on by huge pages, one at a time, where the kernel has them: what it has is in
// some, and that takes no more memory. When all is freed it goes back and stays away. Not below, not if the option says
// so, nor in a process that may not have any.
#include "linked_blocks.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>

using namespace process_test;

namespace {

constexpr std::size_t size = 1000;

std::size_t in_huge_pages() {
    return proc_bytes("/proc/self/smaps_rollup", "\nAnonHugePages:");
}

/// Whether this kernel gives some to who asks as the malloc does, or to who does not ask.
bool gives(bool asks) {
    constexpr std::size_t huge = 2 * MiB;
    char *const p = static_cast<char *>(
        mmap(nullptr, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    CHECK(p != MAP_FAILED);
    char *const range = p + (huge - reinterpret_cast<std::uintptr_t>(p) % huge) % huge;
    unsigned char last = 0;
    if (!asks || madvise(range, huge, MADV_HUGEPAGE) == 0) {
        *static_cast<volatile char *>(range) = 0;
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        CHECK(mincore(range + huge - page, page, &last) == 0);
    }
    CHECK(munmap(p, 2 * huge) == 0);
    return (last & 1) != 0;
}

void grow_and_shrink(bool wanted) {
    free_list(allocate_list(40 * MiB, size));
    CHECK(in_huge_pages() == 0);
    constexpr std::size_t live = 128 * MiB;
    Node *const list = allocate_list(live, size);
    dprintf(1, "%.1f MiB in huge pages, at most %.1f resident\n", mebibytes(in_huge_pages()),
            mebibytes(peak_resident()));
    CHECK(wanted ? in_huge_pages() >= 2 * MiB : in_huge_pages() == 0);
    CHECK(peak_resident() <= live + live / 10 + 8 * MiB);
    free_list(list);
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "a second later %.1f MiB\n", mebibytes(after));
    CHECK(after <= 32 * MiB);
}

/// In a process of its own.
void run(const char *self, const char *mode, const char *options) {
    in_child([&] {
        CHECK(setenv("CAIRN_OPTIONS", options, 1) == 0);
        execl(self, self, mode, static_cast<char *>(nullptr));
        _exit(127);
    });
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 2) {
        alarm(hang_limit);
        const bool may = std::strcmp(argv[1], "may") == 0;
        if (std::strcmp(argv[1], "may-not") == 0) {
            CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
        }
        grow_and_shrink(may && gives(true));
        return 0;
    }
    run(argv[0], "may", "");
    if (!gives(false)) { // else the system decides
        run(argv[0], "off", "huge_pages:off");
    }
    run(argv[0], "may-not", "");
}
