// SPDX-License-Identifier: MIT
// expect: SegregatedHeap
// expect: SameSizeRecord
#include <cairn/combine/segregated.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/system_malloc.hpp>

// Big could not tell the size of a little block: one has a header of ours, the other that of the C library.
cairn::SegregatedHeap<cairn::GeometricSizeClasses<1024, 512>, cairn::SizeHeaderHeap<cairn::MallocHeap>,
                      cairn::MallocHeap>
    heap;
