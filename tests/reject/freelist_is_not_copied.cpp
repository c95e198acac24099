// SPDX-License-Identifier: MIT
// expect: deleted
#include <cairn/layer/freelist.hpp>
#include <cairn/source/system_malloc.hpp>

// Two free lists with the same blocks would hand each out twice.
void copy(cairn::FreelistHeap<cairn::MallocHeap> &heap) {
    cairn::FreelistHeap<cairn::MallocHeap> other(heap);
}
