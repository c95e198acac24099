// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/mtmalloc_like.hpp>

namespace cairn::process_heap {
using Allocator = MtmallocLike<>;
}
