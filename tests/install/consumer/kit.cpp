// SPDX-License-Identifier: MIT
//
// The kit on its own: a header of the lowest folder and nothing to link with.
#include <cairn/core/bits.hpp>
#include <cairn/core/statistics.hpp>

int main() {
    const cairn::Statistics none;
    return none.live() == 0 ? 0 : 1;
}
