// SPDX-License-Identifier: MIT
//
// A write of up to 128 bytes behind a block, wherever it lies, reaches other blocks and no descriptor: also at the end
// of a window, behind which the next one begins with the descriptors of its slots. All goes on as if nothing had been.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr std::size_t window = 32 * MiB;
    constexpr std::size_t size = 64 * KiB;
    constexpr unsigned count = 3 * window / size;
    static unsigned char *blocks[count];
    unsigned at_an_end = 0;
    for (auto *&p : blocks) {
        p = static_cast<unsigned char *>(malloc(size));
        CHECK(p != nullptr);
    }
    for (auto *const p : blocks) {
        const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(p) + size;
        bool mapped = end % window != 0;
        for (auto *const other : blocks) { // is the window behind it one of ours?
            mapped = mapped || reinterpret_cast<std::uintptr_t>(other) / window == end / window;
        }
        if (mapped) {
            at_an_end += end % window == 0 ? 1 : 0;
            std::memset(opaque(p + size), 0xee, 128);
        }
    }
    dprintf(1, "%u blocks end where descriptors begin\n", at_an_end);
    CHECK(at_an_end > 0);
    for (auto *&p : blocks) {
        free(p);
        p = static_cast<unsigned char *>(malloc(size / 2));
        CHECK(p != nullptr);
        std::memset(p, 1, size / 2);
    }
    for (auto *const p : blocks) {
        free(p);
    }
}
