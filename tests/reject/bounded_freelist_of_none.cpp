// SPDX-License-Identifier: MIT
// expect: a list that keeps nothing is no layer
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/source/system_malloc.hpp>

cairn::BoundedFreelistHeap<cairn::MallocHeap, 0> heap;
