// SPDX-License-Identifier: MIT
//
// The allocators of Hoard's taxonomy (its Table 7) as heaps like any other.
#include "suite.hpp"

#include <allocators/mtmalloc_like.hpp>
#include <allocators/owned.hpp>
#include <allocators/private.hpp>
#include <allocators/ptmalloc_like.hpp>
#include <allocators/serial.hpp>
#include <allocators/thresholds.hpp>

namespace cairn::conformance {

template <class H>
struct TaxonomyRow : Row<H> {
    static constexpr bool thread_safe = true;
    static constexpr std::size_t alignment_for(std::size_t size) { return size < 16 ? 8 : 16; }
};

/// Lea's allocator, whose blocks are all aligned to 16 bytes.
template <class H>
struct LeaTaxonomyRow : Row<H> {
    static constexpr bool thread_safe = true;
};

using Rows =
    testing::Types<TaxonomyRow<PrivateHeaps<>>, TaxonomyRow<OwnedHeaps<>>, TaxonomyRow<MtmallocLike<>>,
                   TaxonomyRow<ThresholdHeaps<>>, LeaTaxonomyRow<Serial<>>, LeaTaxonomyRow<PtmallocLike<>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Taxonomy, Conformance, Rows);

} // namespace cairn::conformance
