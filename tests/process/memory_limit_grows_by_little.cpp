// SPDX-License-Identifier: MIT
// ulimit-v: 262144
//
// All memory is in use but for as much as realloc asks for: a block that grows by little gets that, though no more is
// there for its next step.
#include "process_test.hpp"

#include <iterator>

using namespace process_test;

namespace {

constexpr std::size_t slot = 64 * KiB;
void *blocks[10000];
unsigned count = 0;

void fill(std::size_t size) {
    while (count < std::size(blocks) && (blocks[count] = malloc(size)) != nullptr) {
        ++count;
    }
    CHECK(count < std::size(blocks));
}

} // namespace

int main() {
    fill(11 * slot);
    CHECK(count > 100);
    void *const first = blocks[20];
    void *const second = blocks[60]; // not beside it
    blocks[20] = blocks[60] = nullptr;
    const unsigned long_ones = count;
    for (std::size_t size = 10 * slot; size > slot; size -= slot) {
        fill(size);
    }
    free(first);
    void *grows = malloc(8 * slot);
    CHECK(grows != nullptr && malloc(3 * slot) != nullptr); // behind it
    std::memset(grows, 7, 8 * slot);
    free(second);
    CHECK(malloc(2 * slot) != nullptr);
    CHECK(malloc(10 * slot) == nullptr);

    grows = realloc(grows, 8 * slot + 1);
    CHECK(grows != nullptr);
    CHECK(static_cast<unsigned char *>(grows)[0] == 7 &&
          static_cast<unsigned char *>(grows)[8 * slot - 1] == 7);
    dprintf(1, "%u long blocks and %u shorter ones\n", long_ones, count - long_ones);
}
