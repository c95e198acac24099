// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/source/system_malloc.hpp>

namespace cairn::conformance {

struct SystemMallocRow : Row<MallocHeap> {
    static constexpr bool c_semantics = true;
    static constexpr bool thread_safe = true;
};

using Rows = testing::Types<SystemMallocRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(SystemMalloc, Conformance, Rows);

} // namespace cairn::conformance
