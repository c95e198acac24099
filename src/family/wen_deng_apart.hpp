// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/wen_deng_apart.hpp>

namespace cairn::process_heap {
using Allocator = WenDengApart<>;
} // namespace cairn::process_heap
