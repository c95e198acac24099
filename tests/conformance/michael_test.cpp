// SPDX-License-Identifier: MIT
#include "../unit/michael_audit.hpp"
#include "suite.hpp"

namespace cairn::conformance {

template <class Parameters>
struct MichaelRowOf : Row<Michael<Parameters>> {
    static constexpr bool thread_safe = true;
    static constexpr std::size_t alignment_for(std::size_t size) { return size <= 8 ? 8 : 16; }

    static void destroy(Michael<Parameters> *heap) {
        test::MichaelAudit<MichaelSmallHeap<Parameters>> audit(heap->small());
        delete heap;
    }
};

using MichaelRow = MichaelRowOf<MichaelParameters>;
using TinyMichaelRow = MichaelRowOf<test::TinyMichaelParameters>;

static_assert(includes(capabilities_of<MichaelRow::Heap>, Capability::sized | Capability::aligned |
                                                              Capability::reallocating |
                                                              Capability::zeroing));

using Rows = testing::Types<MichaelRow, TinyMichaelRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Michael, Conformance, Rows);

} // namespace cairn::conformance
