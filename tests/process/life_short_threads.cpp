// SPDX-License-Identifier: MIT
//
// 20,000 threads one after the other (100,000 with MANY_THREADS set), each of which leaves a block behind and
// frees that of one before it: what is resident does not grow with their number.
#include "process_test.hpp"

using namespace process_test;

int main() {
    const unsigned many = getenv("MANY_THREADS") != nullptr ? 100000 : 20000;
    static void *left[16];
    static unsigned n;
    std::size_t early = 0;
    for (n = 0; n < many; ++n) {
        in_thread([] {
            for (std::size_t size = 16; size < 20000; size *= 2) {
                void *const p = malloc(size);
                CHECK(p != nullptr);
                *static_cast<char *>(p) = 1;
                free(p);
            }
            free(left[n % 16]);
            left[n % 16] = malloc(100);
        });
        if (n == 200) {
            early = resident();
        }
    }
    const std::size_t late = resident();
    dprintf(1, "after 200 threads %.1f MiB, after %u %.1f MiB\n", mebibytes(early), many, mebibytes(late));
    CHECK(late < early + 4 * MiB);
}
