// SPDX-License-Identifier: MIT
//
// What the main thread allocated, and another one freed and ended, goes back too, though the main thread, which alone
// has a heap then, makes no call: others told it of all that before they ended.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr std::size_t size = 256;
    constexpr unsigned count = 256 * MiB / size;
    static void *blocks[count];
    allocate_all(blocks, size);
    const std::size_t peak = resident();
    in_thread([] { free_all(blocks); });
    const std::size_t after = bytes_after_a_second(resident, sizeof blocks + 32 * MiB);
    dprintf(1, "peak %.1f MiB, a second after the end %.1f MiB\n", mebibytes(peak), mebibytes(after));
    CHECK(peak > 256 * MiB && after <= sizeof blocks + 32 * MiB);
}
