// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/wen_deng.hpp>

namespace cairn::process_heap {
using Allocator = WenDeng<>;
} // namespace cairn::process_heap
