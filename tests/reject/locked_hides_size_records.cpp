// SPDX-License-Identifier: MIT
// expect: SelfSizedHeap
#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

// Another thread may change a record meanwhile, as that of a block whose neighbour is freed: so getSize takes the lock,
// and is no static function. SizeHeader belongs above the lock.
cairn::Compose<cairn::MmapHeap, cairn::SizeHeader, cairn::Locked<>,
               cairn::Segregated<cairn::GeometricSizeClasses<1024, 512>,
                                 cairn::Compose<cairn::MmapHeap, cairn::SizeHeader>>>
    heap;
