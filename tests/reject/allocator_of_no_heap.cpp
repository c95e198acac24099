// SPDX-License-Identifier: MIT
// expect: StdAllocator
// expect: Heap<H> || does not satisfy 'Heap'
#include <cairn/adapt/std_allocator.hpp>

#include <memory>

std::unique_ptr<cairn::StdAllocator<int, std::allocator<int>>> allocator;
using Checked = cairn::StdAllocator<int, std::allocator<int>>::value_type;
