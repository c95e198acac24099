// SPDX-License-Identifier: MIT
// expect: ThreadPrivateHeap
// expect: TakesOthers
#include <cairn/source/mmap.hpp>
#include <cairn/thread/thread_private.hpp>

// A heap stops at a free of what another one has mapped.
cairn::ThreadPrivateHeap<cairn::MmapHeap> heap;
