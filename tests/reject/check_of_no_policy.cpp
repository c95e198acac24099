// SPDX-License-Identifier: MIT
// expect: CheckHeap
// expect: FaultPolicy
#include <cairn/debug/check.hpp>

// Does not say whether to tell of leaks.
struct NoPolicy {
    static void found(const cairn::Finding &);
};

cairn::CheckHeap<cairn::MmapHeap, NoPolicy> heap;
