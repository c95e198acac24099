// SPDX-License-Identifier: MIT
//
// wen-deng-apart: wen-deng with the fix that its authors propose in section 3.2.2 of their report and had no time for.
// The links of a superblock's free blocks are together in its record, so a free writes to no cache line of any block.
// All else is wen-deng.
#pragma once

#include <allocators/wen_deng.hpp>

namespace cairn {

template <class Parameters = WenDengParameters, Heap Source = SbrkHeap>
using WenDengApart = WenDengHeap<Parameters, Source, wen_deng::LinksApart>;

} // namespace cairn
