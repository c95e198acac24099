// SPDX-License-Identifier: MIT
// expect: ProfileHeap
// expect: SizedHeap<Super> || does not satisfy 'SizedHeap'
#include <cairn/core/archetype.hpp>
#include <cairn/debug/profile.hpp>

// How many bytes a free takes away would not be known.
constinit cairn::Usage usage;
cairn::ProfileHeap<cairn::Archetype<>, usage> heap;
