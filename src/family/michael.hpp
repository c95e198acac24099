// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/michael.hpp>

namespace cairn::process_heap {
using Allocator = Michael<>;
}
