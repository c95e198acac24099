// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn::conformance {

struct LockedRow : On<Locked<>> {
    static constexpr bool thread_safe = true;
};

struct LockedByMutexRow : On<Locked<std::mutex>> {
    static constexpr bool thread_safe = true;
};

using Rows = testing::Types<LockedRow, LockedByMutexRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Locked, Conformance, Rows);

} // namespace cairn::conformance
