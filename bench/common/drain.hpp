// SPDX-License-Identifier: MIT
// What is resident after a workload has freed everything, and some time later: asked for by CAIRN_BENCH_LINGER, the
// milliseconds to stay. Nothing calls the allocator in between.
#pragma once

#include "resident.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace cairn::bench {

inline void linger_after_drain() {
    const char *given = std::getenv("CAIRN_BENCH_LINGER");
    const long milliseconds = given == nullptr ? 0 : std::strtol(given, nullptr, 10);
    if (milliseconds <= 0)
        return;
    const char *const rollup = "/proc/self/smaps_rollup";
    Resident drained;
    Resident settled;
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    read_resident(rollup, drained);
    const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, nullptr);
    read_resident(rollup, settled);
    std::fprintf(stderr,
                 "figures: {\"drained_at\": %.6f, \"drained_kib\": %" PRIu64
                 ", \"drained_lazy_free_kib\": %" PRIu64 ", \"settled_kib\": %" PRIu64
                 ", \"settled_lazy_free_kib\": %" PRIu64 ", \"settled_huge_kib\": %" PRIu64 "}\n",
                 static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9, drained.rss,
                 drained.lazy_free, settled.rss, settled.lazy_free, settled.huge);
}

} // namespace cairn::bench
