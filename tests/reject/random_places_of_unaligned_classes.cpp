// SPDX-License-Identifier: MIT
// expect: blocks of these classes would not be aligned
#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/random_places.hpp>
#include <cairn/sizeclass/multiples.hpp>

// Blocks of 24 bytes behind each other are not all aligned to 16.
cairn::Compose<cairn::GuardedPagesHeap<>, cairn::RandomPlaces<cairn::MultiplesOf8<1024>>> heap;
