// SPDX-License-Identifier: MIT
// expect: Held > 0
#include <cairn/debug/guarded_pages.hpp>

// A block that is freed is held until so many more were: there is no turn of none.
cairn::GuardedPagesHeap<cairn::StopAtFault, 0> heap;
