// SPDX-License-Identifier: MIT
//
// Statistics fields: the names of the counters of Statistics, for code that handles each of them alike.
//
// Adds:    CAIRN_STATISTICS_FIELDS(FIELD): FIELD(name) for each counter, in the order of the members. The members of
//          cairn_statistics (<cairn/cairn.h>) and the names in the JSON report are the same.
#pragma once

#include <cairn/core/statistics.hpp>

#define CAIRN_STATISTICS_FIELDS(FIELD)                                                                       \
    FIELD(small_live)                                                                                        \
    FIELD(small_resident)                                                                                    \
    FIELD(superblocks)                                                                                       \
    FIELD(heaps)                                                                                             \
    FIELD(heaps_peak)                                                                                        \
    FIELD(large_live)                                                                                        \
    FIELD(large_live_blocks)                                                                                 \
    FIELD(huge_live)                                                                                         \
    FIELD(huge_live_blocks)                                                                                  \
    FIELD(free_dirty)                                                                                        \
    FIELD(free_clean)                                                                                        \
    FIELD(mapped)                                                                                            \
    FIELD(mapped_peak)                                                                                       \
    FIELD(metadata)                                                                                          \
    FIELD(purged)                                                                                            \
    FIELD(purges)                                                                                            \
    FIELD(superblocks_to_global)                                                                             \
    FIELD(superblocks_from_global)                                                                           \
    FIELD(superblocks_fresh)

namespace cairn {

#define CAIRN_COUNT_FIELD(name) +1
static_assert((0 CAIRN_STATISTICS_FIELDS(CAIRN_COUNT_FIELD)) * sizeof(std::uint64_t) ==
                  offsetof(Statistics, size_classes),
              "every counter of Statistics is in the list");
#undef CAIRN_COUNT_FIELD

} // namespace cairn
