// SPDX-License-Identifier: MIT
// expect: ThresholdHeap
// expect: SelfSizedHeap
#include <cairn/combine/threshold.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/source/static_buffer.hpp>

cairn::ThresholdHeap<cairn::StaticBufferHeap<1024>, cairn::MultiplesOf8<64>, 512> heap;
