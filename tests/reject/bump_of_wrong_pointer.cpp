// SPDX-License-Identifier: MIT
// expect: BumpHeap
// expect: Heap<Super> || does not satisfy 'Heap'
#include <cairn/layer/bump.hpp>

struct ReturnsChar {
    char *malloc(std::size_t);
    void free(void *);
};

cairn::BumpHeap<ReturnsChar> heap;
