// SPDX-License-Identifier: MIT
// expect: getSize
#include <cairn/core/compose.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/thread_private.hpp>

// Which of the heaps would have to be asked is not known: only blocks that tell their own size have one here.
std::size_t use(cairn::Compose<cairn::MmapHeap, cairn::Freelist, cairn::ThreadPrivate<>> &heap, void *p) {
    return heap.getSize(p);
}
