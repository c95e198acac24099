// SPDX-License-Identifier: MIT
// expect: HybridHeap
// expect: TellableApart
#include <cairn/combine/hybrid.hpp>
#include <cairn/core/archetype.hpp>

// The large heap knows its own, but the small one is asked first.
cairn::HybridHeap<64, cairn::Archetype<>, cairn::Archetype<cairn::Capability::owning>> heap;
