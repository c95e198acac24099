// SPDX-License-Identifier: MIT
// expect: HeapResource
// expect: Heap<H> || does not satisfy 'Heap'
#include <cairn/adapt/pmr.hpp>

cairn::HeapResource<int> *resource;
