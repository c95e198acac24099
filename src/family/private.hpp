// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/private.hpp>

namespace cairn::process_heap {
using Allocator = PrivateHeaps<>;
}
