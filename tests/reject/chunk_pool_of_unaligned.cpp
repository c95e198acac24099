// SPDX-License-Identifier: MIT
// expect: ChunkPoolHeap
// expect: AlignedHeap<Super> || does not satisfy 'AlignedHeap'
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/source/mmap.hpp>

// A chunk could not tell its slab.
cairn::ChunkPoolHeap<cairn::BumpHeap<cairn::MmapHeap>, 4096> heap;
