// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/kingsley_coalescing.hpp>

namespace cairn::process_heap {
using Allocator = LockedKingsleyCoalescing<>;
}
