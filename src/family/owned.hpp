// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/owned.hpp>

namespace cairn::process_heap {
using Allocator = OwnedHeaps<>;
}
