// SPDX-License-Identifier: MIT
// expect: ThreadOwnedHeap
// expect: Heap<Super> || does not satisfy 'Heap'
#include <cairn/thread/thread_owned.hpp>

cairn::ThreadOwnedHeap<int> heap;
