// SPDX-License-Identifier: MIT
#include "../unit/nbmalloc_audit.hpp"
#include "suite.hpp"

namespace cairn::conformance {

template <class Parameters>
struct NbmallocRowOf : Row<Nbmalloc<Parameters>> {
    static constexpr bool thread_safe = true;
    static constexpr std::size_t alignment_for(std::size_t size) { return size <= 8 ? 8 : 16; }

    static void destroy(Nbmalloc<Parameters> *heap) {
        test::NbAudit<Parameters> audit(*heap);
        delete heap;
    }
};

using NbmallocRow = NbmallocRowOf<NbmallocParameters>;
using TinyNbmallocRow = NbmallocRowOf<test::TinyNbmallocParameters>;

static_assert(includes(capabilities_of<NbmallocRow::Heap>, Capability::sized | Capability::aligned |
                                                               Capability::reallocating |
                                                               Capability::zeroing));

using Rows = testing::Types<NbmallocRow, TinyNbmallocRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Nbmalloc, Conformance, Rows);

} // namespace cairn::conformance
