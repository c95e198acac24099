// SPDX-License-Identifier: MIT
// expect: a chunk's size is a multiple of a pointer's
#include <cairn/core/compose.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/source/mmap.hpp>

// A free chunk holds a pointer, and every second one of 100 bytes would not be aligned for it.
cairn::Compose<cairn::MmapHeap, cairn::ChunkPool<100>> heap;
