// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/kingsley.hpp>

namespace cairn::process_heap {
using Allocator = LockedKingsley<>;
}
