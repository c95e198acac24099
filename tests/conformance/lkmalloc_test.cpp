// SPDX-License-Identifier: MIT
//
// LKmalloc, with one subheap too, with the document's alignment, and DLmalloc with local locks.
#include "suite.hpp"

#include <allocators/dl_locallocks.hpp>
#include <allocators/lkmalloc.hpp>

namespace cairn::conformance {

struct OneSubheap : LkmallocParameters {
    static constexpr unsigned subheaps = 1;
};
struct AsDocumented : LkmallocParameters {
    static constexpr std::size_t alignment = 8;
};

template <class H>
struct LkmallocRow : Row<H> {
    static constexpr bool thread_safe = true;
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<LkmallocRow<Lkmalloc<>>, LkmallocRow<Lkmalloc<OneSubheap>>,
                            LkmallocRow<Lkmalloc<AsDocumented>>, LkmallocRow<DlLocallocks<>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Lkmalloc, Conformance, Rows);

} // namespace cairn::conformance
