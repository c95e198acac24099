// SPDX-License-Identifier: MIT
#include <allocators/lkmalloc.hpp>

namespace cairn::process_heap {
using Allocator = Lkmalloc<>;
} // namespace cairn::process_heap
