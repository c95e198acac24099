// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: heap corruption: free block \1 of size class 64 was written to after .*\n$
//
// Whoever writes the address of something else into a freed block, or copies the first word of another free block,
// wants malloc to hand that out. It is never handed out.
#include "process_test.hpp"

using namespace process_test;

static std::uint64_t victim[16];

int main() {
    constexpr int count = 6;
    std::uint64_t *blocks[count];
    for (auto *&p : blocks) {
        p = static_cast<std::uint64_t *>(malloc(64));
    }
    for (auto *p : blocks) {
        free(p);
    }
    auto *const last = blocks[count - 1];
    announce(last);
    *opaque(last) = reinterpret_cast<std::uintptr_t>(victim);
    for (int i = 0; i < count; ++i) {
        CHECK(opaque(malloc(64)) != victim);
    }
}
