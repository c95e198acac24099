// SPDX-License-Identifier: MIT
//
// 100,000 blocks of mixed sizes, allocated and freed in a mixed order by four threads with purging between:
// the kernel holds hundreds of mappings for them, not tens of thousands (its limit is 65,530).
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    constexpr unsigned count = 25000;
    static void *blocks[4][count];
    std::size_t most = 0;
    for (int round = 0; round < 3; ++round) {
        in_threads(4, [&](unsigned i) {
            Random random(i + 1);
            for (void *&p : blocks[i]) {
                const std::size_t kind = random.below(1000);
                const std::size_t size = kind < 900   ? 1 + random.below(1000)
                                         : kind < 990 ? 1000 + random.below(60000)
                                         : kind < 999 ? 100000 + random.below(MiB)
                                                      : 17 * MiB;
                free(p);
                p = malloc(size);
                CHECK(p != nullptr);
                *static_cast<char *>(p) = 1;
            }
            for (void *&p : blocks[i]) {
                if (random.below(100) < 60) {
                    free(p);
                    p = nullptr;
                }
            }
        });
        malloc_trim(0);
        const std::size_t now = mappings();
        most = now > most ? now : most;
    }
    dprintf(1, "%zu mappings\n", most);
    CHECK(most < 1000);
}
