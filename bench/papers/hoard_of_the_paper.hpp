// SPDX-License-Identifier: MIT
//
// Hoard for a machine of the paper's 14 processors, wherever it runs; the empty fraction is 1 / CAIRN_PAPER_F (Tables 5
// and 6), and there are CAIRN_PAPER_HEAPS heaps a processor: 2 is section 3's, so many that no two threads meet by
// chance is what section 3 says of Solaris, where the thread's number is hashed without collisions.
#pragma once

#include <allocators/hoard.hpp>

namespace cairn::process_heap {

struct PaperParameters : HoardParameters {
    static constexpr std::size_t empty_denominator = CAIRN_PAPER_F;
    static constexpr unsigned groups = 8; // a group must end at 1 - f, which 4 groups do not for 1/8
    static constexpr unsigned heaps_per_processor = CAIRN_PAPER_HEAPS;
    static unsigned processors() { return 14; }
};

/// What section 4.2 and Table 3 count stands in figures that a Hoard has no use for: `purges` and `purged`.
template <class P>
class CountingHoard : public Hoard<P> {
public:
    void statistics(Statistics &out) {
        Hoard<P>::statistics(out);
        this->for_each_heap([&](auto &heap) {
            if constexpr (requires { heap.crossings(); }) {
                out.purges = heap.crossings().locked;
                out.purged = heap.crossings().live_from_global;
            }
        });
    }
};

using Allocator = CountingHoard<PaperParameters>;

} // namespace cairn::process_heap
