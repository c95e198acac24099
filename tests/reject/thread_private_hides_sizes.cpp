// SPDX-License-Identifier: MIT
// expect: getSize
#include <cairn/source/mmap.hpp>
#include <cairn/thread/thread_private.hpp>

// Which of the heaps would have to be asked is not known: only blocks that tell their own size have one here.
std::size_t use(cairn::ThreadPrivateHeap<cairn::MmapHeap> &heap, void *p) {
    return heap.getSize(p);
}
