// SPDX-License-Identifier: MIT
//
// Compose: a heap as a flat list, from the source of memory upward.
//
//     using Pool = Compose<MmapHeap, Bump<64_KiB>, Freelist>;
//
// is the same type as the nested form, read from the inside out:
//
//     using Pool = FreelistHeap<BumpHeap<MmapHeap, 64_KiB>>;
//
// Adds:    nothing: it is a type alias. A layer `XHeap<Super, ...>` comes with a stage `X<...>`, which is a
//          type with a member template `on<Super>` that names the layer.
// Needs:   a heap at the bottom; the layer of each stage states what it needs of the layer below.
// Keeps:   both forms are one type.
// Cost:    none.
// Source:  the mixins of Heap Layers, section 3; the flat list lets a reader see them in order.
#pragma once

#include <cairn/core/concepts.hpp>

namespace cairn {

namespace detail {
template <class Below, class... Stages>
struct Composed {
    using Type = Below;
};
template <class Below, class First, class... Rest>
struct Composed<Below, First, Rest...> : Composed<typename First::template on<Below>, Rest...> {};
} // namespace detail

template <Heap Source, class... Stages>
using Compose = typename detail::Composed<Source, Stages...>::Type;

} // namespace cairn
