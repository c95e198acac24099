// SPDX-License-Identifier: MIT
// expect: CoalesceHeap
// expect: Joins
#include <cairn/combine/seg.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/static_buffer.hpp>

using namespace cairn;
using Blocks = Compose<StaticBufferHeap<64_KiB>, Coalesceable<>, Unique<>>;

// A block of one heap may lie next to a free one that the other holds: each would take the other's into its lists.
Compose<Blocks, Seg<PowersOfTwo<>>, Coalesce> one, another;
