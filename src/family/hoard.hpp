// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/hoard.hpp>

namespace cairn::process_heap {
using Allocator = Hoard<>;
}
