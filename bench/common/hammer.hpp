// SPDX-License-Identifier: MIT
// Writes on a small object over and over, as the false-sharing benchmarks do: slow only if a processor that writes
// somewhere else has the same cache line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::bench {

inline void hammer(void *object, std::size_t size, std::uint64_t times) {
    volatile char *bytes = static_cast<volatile char *>(object);
    for (std::uint64_t i = 0; i < times; ++i)
        for (std::size_t j = 0; j < size; ++j)
            bytes[j] = static_cast<char>(bytes[j] + 1);
}

} // namespace cairn::bench
