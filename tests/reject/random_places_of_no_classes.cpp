// SPDX-License-Identifier: MIT
// expect: RandomPlacesHeap
// expect: SizeClasses
#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/random_places.hpp>

cairn::Compose<cairn::GuardedPagesHeap<>, cairn::RandomPlaces<int>> heap;
