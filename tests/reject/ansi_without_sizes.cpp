// SPDX-License-Identifier: MIT
// expect: AnsiHeap
// expect: SizedHeap<Super> || does not satisfy 'SizedHeap'
#include <cairn/adapt/ansi.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>

// A heap that can do everything but tell a block's size.
using Below = cairn::Archetype<cairn::Capability{~1u & static_cast<unsigned>(cairn::Capability::all)}>;
static_assert(!cairn::SizedHeap<Below>);

cairn::Compose<Below, cairn::Ansi> heap;
