// SPDX-License-Identifier: MIT
//
// Processors: the number of processors that this process may run on.
//
// Errors:  1 when the kernel does not say.
// Threads: any.
// Cost:    a system call: ask once.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

/// The number that the scheduler of a test gives (features.hpp: simulated).
extern "C" unsigned cairn_simulated_processors();

namespace cairn::platform {

inline unsigned processors() {
    if constexpr (simulated) {
        return cairn_simulated_processors();
    }
    std::uint64_t mask[128] = {}; // 8,192 processors, the most that Linux can be built for
    const long bytes = raw_syscall(SYS_sched_getaffinity, 0, sizeof mask, reinterpret_cast<long>(mask));
    unsigned count = 0;
    if (!failed(bytes)) {
        for (const std::uint64_t word : mask) {
            count += static_cast<unsigned>(std::popcount(word));
        }
    }
    return std::max(count, 1u);
}

} // namespace cairn::platform
