// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/thresholds.hpp>

namespace cairn::process_heap {
using Allocator = ThresholdHeaps<>;
}
