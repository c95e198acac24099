// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/nbmalloc.hpp>

namespace cairn::process_heap {
using Allocator = Nbmalloc<>;
}
