// SPDX-License-Identifier: MIT
//
// Blocks of all sizes stay what they are when the thread that allocated them has ended, are freed by another
// thread, and their memory serves again.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr unsigned count = 5000;
    static unsigned char *blocks[count];
    static std::size_t sizes[count];
    std::size_t after_first = 0;
    for (unsigned round = 0; round < 20; ++round) {
        in_thread([] {
            Random random(3);
            for (unsigned i = 0; i < count; ++i) {
                sizes[i] = 1 + random.below(i % 100 == 0 ? 300000 : 3000);
                blocks[i] = static_cast<unsigned char *>(malloc(sizes[i]));
                CHECK(blocks[i] != nullptr);
                std::memset(blocks[i], static_cast<int>(i % 256), sizes[i]);
            }
        });
        for (unsigned i = 0; i < count; ++i) {
            CHECK(blocks[i][0] == i % 256 && blocks[i][sizes[i] - 1] == i % 256);
            free(blocks[i]);
        }
        after_first = round == 0 ? peak_resident() : after_first;
    }
    dprintf(1, "peak %.1f MiB after 1 round, %.1f MiB after 20\n", mebibytes(after_first),
            mebibytes(peak_resident()));
    CHECK(peak_resident() < after_first * 3 / 2);
}
