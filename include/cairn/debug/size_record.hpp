// SPDX-License-Identifier: MIT
//
// SizeRecordOf: the way in which a heap records sizes, for a layer that leaves it as it is.
//
// Needs:   a heap.
// Cost:    none.
#pragma once

#include <cairn/core/concepts.hpp>

namespace cairn::debug {

template <class H>
struct FindSizeRecord {
    using Type = void;
};
template <SelfSizedHeap H>
struct FindSizeRecord<H> {
    using Type = typename H::SizeRecord;
};

/// void: none that the block alone would tell.
template <class H>
using SizeRecordOf = typename FindSizeRecord<H>::Type;

} // namespace cairn::debug
