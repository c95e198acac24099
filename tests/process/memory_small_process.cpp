// SPDX-License-Identifier: MIT
//
// A process that has touched little is left alone: nobody economises for it (docs/decisions/small-process-floor.md).
// link: a
#include "process_test.hpp"

#include "../../src/malloc/process_heap.hpp"

using namespace process_test;

int main() {
    std::free(opaque(std::malloc(100)));
    const cairn::WaterLine &line = cairn::process_heap::heap.levels().runs().line();
    CHECK(line.is_small());
    char *const p = static_cast<char *>(opaque(std::malloc(8 * MiB))); // a heap's worth is 2 MiB
    CHECK(p != nullptr);
    CHECK(!line.is_small());
    std::free(p);
}
