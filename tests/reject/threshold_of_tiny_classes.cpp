// SPDX-License-Identifier: MIT
// expect: a block of the smallest class has room for a list's link
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/source/mmap.hpp>

// A list of blocks of 4 bytes has no place for its links.
cairn::Compose<cairn::MmapHeap, cairn::SizeHeader, cairn::Threshold<cairn::MultipleClasses<4, 4, 64>, 1000>>
    heap;
