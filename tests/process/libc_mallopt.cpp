// SPDX-License-Identifier: MIT
//
// mallopt: M_TRIM_THRESHOLD is what stays unpurged; hints are taken, unknown parameters and what can not be
// done are refused.
// env: CAIRN_OPTIONS=purge_delay:100ms,background:off
#include "memory_fill.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

/// Long enough for the purge clock, which callers wind here.
void pass_time() {
    for (int i = 0; i < 6; ++i) {
        sleep_seconds(0.06);
        use_in_turn();
    }
}

} // namespace

int main() {
    CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1);
    const std::size_t before = resident();
    use_and_free(60 * MiB);
    pass_time();
    CHECK(resident() > before + 50 * MiB);
    CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
    pass_time();
    CHECK(resident() < before + 10 * MiB);
    CHECK(mallopt(M_TRIM_THRESHOLD, 16 << 20) == 1);
    use_and_free(60 * MiB);
    pass_time();
    CHECK(resident() > before + 12 * MiB && resident() < before + 28 * MiB); // that much of it stays
    CHECK(mallopt(M_TRIM_THRESHOLD, -1) == 1);                               // never
    use_and_free(60 * MiB);
    pass_time();
    CHECK(resident() > before + 50 * MiB);
    CHECK(mallopt(M_TRIM_THRESHOLD, 0) == 1); // nothing stays
    pass_time();
    CHECK(resident() < before + 10 * MiB);

    char status[4096]; // background:off
    read_proc("/proc/self/status", status, sizeof status);
    CHECK(std::strstr(status, "\nThreads:\t1\n") != nullptr);

    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    CHECK(mallopt(M_MMAP_MAX, 0) == 1);
    CHECK(mallopt(M_TOP_PAD, 4096) == 1);
    CHECK(mallopt(M_ARENA_MAX, 1) == 1);
    CHECK(mallopt(M_ARENA_TEST, 1) == 1);
    CHECK(mallopt(M_CHECK_ACTION, 3) == 1);
    CHECK(mallopt(M_MXFAST, 160) == 1 && mallopt(M_MXFAST, 161) == 0);
    CHECK(mallopt(M_MXFAST, -1) == 0 && mallopt(M_MXFAST, 0) == 1);
    CHECK(mallopt(M_PERTURB, 0) == 1 && mallopt(M_PERTURB, 0x55) == 0);
    CHECK(mallopt(12345, 1) == 0);
    std::free(std::malloc(100));
}
