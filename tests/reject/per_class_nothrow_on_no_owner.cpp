// SPDX-License-Identifier: MIT
// expect: heap_owns_its_blocks_or_takes_any_size
#include <cairn/adapt/per_class.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/system_malloc.hpp>

struct Foo {};
using PooledFoo = cairn::PerClassHeap<Foo, cairn::FreelistHeap<cairn::MallocHeap>>;

// If the constructor threw, nobody would say the size to delete, and the heap can not say whether the block is its own.
PooledFoo *foo = new (std::nothrow) PooledFoo;
