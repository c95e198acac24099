// SPDX-License-Identifier: MIT
// expect: SizeHeaderHeap
// expect: Heap<Super> || does not satisfy 'Heap'
#include <cairn/layer/size_header.hpp>

cairn::SizeHeaderHeap<int> heap;
