// SPDX-License-Identifier: MIT
// expect: SegHeap
// expect: SelfSizedHeap
#include <cairn/combine/seg.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/static_buffer.hpp>

cairn::SegHeap<cairn::StaticBufferHeap<1024>, cairn::PowersOfTwo<>> heap;
