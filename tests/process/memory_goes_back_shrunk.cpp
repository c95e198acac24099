// SPDX-License-Identifier: MIT
//
// What realloc cuts off goes back, without a further call: of long blocks and of huge ones, much or a little more than
// a half, also where a new block of the same length would not be long, or not huge.
#include "process_test.hpp"

using namespace process_test;

namespace {

void shrink(std::size_t from, std::size_t to, unsigned count, bool by_halves = false) {
    static void *blocks[2000];
    for (unsigned i = 0; i < count; ++i) {
        blocks[i] = malloc(from);
        CHECK(blocks[i] != nullptr);
        std::memset(blocks[i], 1, from);
    }
    for (unsigned i = 0; i < count; ++i) {
        for (std::size_t size = from / 2; by_halves && size > to; size /= 2) {
            blocks[i] = realloc(blocks[i], size);
        }
        blocks[i] = realloc(blocks[i], to);
        CHECK(blocks[i] != nullptr && static_cast<char *>(blocks[i])[to - 1] == 1);
    }
    const std::size_t live = count * to;
    const std::size_t most = live + live / 4 + 32 * MiB;
    const std::size_t after = bytes_after_a_second(resident, most);
    dprintf(1, "%u blocks of %zu bytes, then of %zu: live %.1f MiB, a second later %.1f MiB\n", count, from,
            to, mebibytes(live), mebibytes(after));
    CHECK(after <= most);
    for (unsigned i = 0; i < count; ++i) {
        free(blocks[i]);
    }
}

} // namespace

int main() {
    shrink(8388608, 100000, 50);
    shrink(200000, 70000, 2000);
    shrink(200000, 101000, 2000);
    shrink(8000000, 4100000, 50);
    shrink(100000000, 55000000, 5);
    shrink(100000, 60000, 2000);
    shrink(131072, 65536, 2000);
    shrink(33000000, 16700000, 10);
    shrink(33500000, 8200000, 20, /*by_halves=*/true);
    shrink(130000, 32000, 2000, /*by_halves=*/true);
}
