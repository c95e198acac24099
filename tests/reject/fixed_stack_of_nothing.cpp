// SPDX-License-Identifier: MIT
// expect: no block would ever fit
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/source/mmap.hpp>

// Rounded down to whole blocks.
cairn::FixedStackHeap<cairn::MmapHeap, 15> stack;
