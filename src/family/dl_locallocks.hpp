// SPDX-License-Identifier: MIT
#include <allocators/dl_locallocks.hpp>

namespace cairn::process_heap {
using Allocator = DlLocallocks<>;
} // namespace cairn::process_heap
