// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/ptmalloc_like.hpp>

namespace cairn::process_heap {
using Allocator = PtmallocLike<>;
}
