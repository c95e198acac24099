// SPDX-License-Identifier: MIT
// library: hardened
//
// The children of one process get blocks at places of their own, which neither the others nor their parent can tell
// from theirs.
#include "process_test.hpp"

#include <array>

using namespace process_test;

namespace {

using Places = std::array<void *, 20>;

/// Where this process's next blocks lie.
Places places() {
    Places all;
    for (void *&p : all) {
        p = malloc(100);
        CHECK(p != nullptr);
    }
    return all;
}

void check_apart() {
    const Places first = of_child(places);
    const Places second = of_child(places);
    const Places own = places();
    CHECK(first != second);
    CHECK(first != own);
    CHECK(second != own);
}

} // namespace

int main() {
    check_apart();
    for (const void *p : places()) {
        CHECK(p != nullptr);
    }
    check_apart();
}
