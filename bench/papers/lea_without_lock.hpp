// SPDX-License-Identifier: MIT
//
// Lea's allocator as Heap Layers has it, for one thread and without a lock: what the family's costs by its lock.
#pragma once

#include <allocators/lea.hpp>

namespace cairn::process_heap {

using Allocator = Lea<>;

} // namespace cairn::process_heap
