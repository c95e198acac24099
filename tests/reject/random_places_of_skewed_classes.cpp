// SPDX-License-Identifier: MIT
// expect: blocks of these classes would not be aligned
#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/random_places.hpp>
#include <cairn/sizeclass/power.hpp>

// All are multiples of 16, but blocks for an alignment of 128 would be of a class of some more bytes.
cairn::Compose<cairn::GuardedPagesHeap<>, cairn::RandomPlaces<cairn::PowerSizeClasses<4096, 6, 5>>> heap;
