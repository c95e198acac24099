// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/lea.hpp>

namespace cairn::process_heap {
using Allocator = LockedLea<>;
}
