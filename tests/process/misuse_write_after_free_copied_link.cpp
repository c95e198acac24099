// SPDX-License-Identifier: MIT
// expect-death: ^cairn: (heap corruption|double free)[^\n]*\n$
//
// The first word of a free block is copied over that of another, so that the list runs in a circle or loses blocks: no
// block is handed out twice before it is found.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr int count = 6;
    std::uint64_t *blocks[count];
    for (auto *&p : blocks) {
        p = static_cast<std::uint64_t *>(malloc(64));
    }
    for (auto *p : blocks) {
        free(p);
    }
    *opaque(blocks[1]) = *opaque(blocks[4]); // the one below 1 was 0, now it is 3 once more
    void *given[count] = {};
    for (int i = 0; i < count; ++i) {
        given[i] = opaque(malloc(64));
        for (int j = 0; j < i; ++j) {
            CHECK(given[i] != given[j]);
        }
    }
}
