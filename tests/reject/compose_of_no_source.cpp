// SPDX-License-Identifier: MIT
// expect: Compose
// expect: Heap<Source> || does not satisfy 'Heap'
#include <cairn/core/compose.hpp>
#include <cairn/layer/freelist.hpp>

// The source of memory comes first.
cairn::Compose<cairn::Freelist, cairn::Freelist> heap;
