// SPDX-License-Identifier: MIT
// expect: ThrowExceptionHeap
// expect: Heap<Super> || does not satisfy 'Heap'
#include <cairn/adapt/throw_exception.hpp>

struct NoFree {
    void *malloc(std::size_t);
};

cairn::ThrowExceptionHeap<NoFree> heap;
