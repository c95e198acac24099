// SPDX-License-Identifier: MIT
// expect: the size of a chunk is a multiple of the alignment of its blocks
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/source/mmap.hpp>

// A chunk of 1000 bytes is large enough, but its last block would be half a block.
cairn::Compose<cairn::MmapHeap, cairn::Bump<1000>> heap;
