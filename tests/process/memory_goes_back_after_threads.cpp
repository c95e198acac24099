// SPDX-License-Identifier: MIT
//
// What one thread allocated, another one freed, and the first thread ended, goes back as well; so does what a
// sleeping thread's blocks left when all of them were freed by others and it woke for one call.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr std::size_t size = 256;
    constexpr unsigned count = 256 * MiB / size;
    static void *blocks[count];
    in_thread([] { allocate_all(blocks, size); });
    const std::size_t peak = resident();
    free_all(blocks);
    const std::size_t after = bytes_after_a_second(resident, sizeof blocks + 32 * MiB);
    dprintf(1, "peak %.1f MiB, a second after the end %.1f MiB\n", mebibytes(peak), mebibytes(after));
    CHECK(peak > 256 * MiB && after <= sizeof blocks + 32 * MiB);
}
