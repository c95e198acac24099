// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/hardened.hpp>

namespace cairn::process_heap {
using Allocator = Hardened<>;
}
