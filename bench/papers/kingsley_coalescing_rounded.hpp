// SPDX-License-Identifier: MIT
//
// Kingsley's allocator with coalescing and with Kingsley's rounding of requests to powers of two, which the family's
// has not: the other way to read Heap Layers, section 8.
#pragma once

#include <allocators/kingsley_coalescing.hpp>

#include <cairn/layer/rounded.hpp>

namespace cairn::process_heap {

using Allocator = Compose<KingsleyCoalescing<>, Rounded<KingsleyCoalescingParameters::Classes>, Locked<>>;

} // namespace cairn::process_heap
