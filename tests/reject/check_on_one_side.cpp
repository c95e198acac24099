// SPDX-License-Identifier: MIT
// expect: SegregatedHeap
// expect: SameSizeRecord
#include <cairn/combine/segregated.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>

// A block tells its size behind itself on one side, before itself on the other.
using Below = cairn::SizeHeaderHeap<cairn::MmapHeap>;
cairn::SegregatedHeap<cairn::GeometricSizeClasses<1024, 512>, cairn::CheckHeap<Below>, Below> heap;
