// SPDX-License-Identifier: MIT
// expect: memalign
#include <cairn/layer/freelist.hpp>
#include <cairn/source/system_malloc.hpp>

// A block of another size and alignment would end on the list: what is below stays below.
void *use(cairn::FreelistHeap<cairn::MallocHeap> &heap) {
    return heap.memalign(64, 64);
}
