// SPDX-License-Identifier: MIT
// expect: XallocHeap
// expect: StackHeap
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/mmap.hpp>

// Only the last block that became free is given back, for all that lie above it.
cairn::XallocHeap<cairn::MmapHeap> heap;
