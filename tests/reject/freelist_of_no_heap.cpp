// SPDX-License-Identifier: MIT
// expect: FreelistHeap
// expect: Heap<Super> || does not satisfy 'Heap'
#include <cairn/layer/freelist.hpp>

struct NoFree {
    void *malloc(std::size_t);
};

cairn::FreelistHeap<NoFree> heap;
