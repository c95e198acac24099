// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/serial.hpp>

namespace cairn::process_heap {
using Allocator = Serial<>;
}
