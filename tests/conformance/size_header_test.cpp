// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

struct SizeHeaderRow : On<SizeHeader> {};

using Rows = testing::Types<SizeHeaderRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(SizeHeader, Conformance, Rows);

} // namespace cairn::conformance
