// SPDX-License-Identifier: MIT
// expect: a size and the mark of a held block share a word
#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/random_places.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>

// The largest class has 2 GiB.
cairn::Compose<cairn::GuardedPagesHeap<>, cairn::RandomPlaces<cairn::PowersOfTwo<>>> heap;
