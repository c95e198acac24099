// SPDX-License-Identifier: MIT
// expect: FreelistHeap
// expect: Heap<Super> || does not satisfy 'Heap'
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/source/mmap.hpp>

// What the list gives back takes everything younger along, blocks of the list too.
cairn::FreelistHeap<cairn::ObstackHeap<cairn::MmapHeap>> heap;
