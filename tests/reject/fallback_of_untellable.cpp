// SPDX-License-Identifier: MIT
// expect: FallbackHeap
// expect: OwningHeap
#include <cairn/combine/fallback.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/system_malloc.hpp>

// Neither knows its blocks.
cairn::FallbackHeap<cairn::SbrkHeap, cairn::MallocHeap> heap;
