// SPDX-License-Identifier: MIT
// expect: PerClassHeap
// expect: is_final_v
#include <cairn/adapt/per_class.hpp>
#include <cairn/source/system_malloc.hpp>

struct Last final {};

cairn::PerClassHeap<Last, cairn::MallocHeap> object;
