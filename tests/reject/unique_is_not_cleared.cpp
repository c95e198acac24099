// SPDX-License-Identifier: MIT
// expect: clear
#include <cairn/layer/bump.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/source/mmap.hpp>

// The blocks of all other users would be gone.
void use(cairn::UniqueHeap<cairn::BumpHeap<cairn::MmapHeap>> &heap) {
    heap.clear();
}
