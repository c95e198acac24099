// SPDX-License-Identifier: MIT
//
// Hardened: for programs that are not trusted with their own memory. Read from the source of memory upward:
//
//   GuardedPages   a mapping for each large block, with guard pages; freed ones are forbidden for a while
//   RandomPlaces   small blocks at random among twice as many, zero whenever they are free, with quarantine
//   Locked         a lock
//
// Nothing that the allocator knows lies in a block or beside one. docs/family.md says what each fault ends in.
#pragma once

#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/random_places.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

struct HardenedParameters {
    using Policy = StopAtFault;
    using Classes = GeometricSizeClasses<32_KiB, 8_KiB>;
    static constexpr std::size_t held_small = 1024; // frees until a small block may be handed out again
    static constexpr std::size_t held_large = 64;   // frees until a large one is unmapped
};

template <class P = HardenedParameters>
using Hardened = Compose<GuardedPagesHeap<typename P::Policy, P::held_large>,
                         RandomPlaces<typename P::Classes, typename P::Policy, P::held_small>, Locked<>>;

} // namespace cairn
