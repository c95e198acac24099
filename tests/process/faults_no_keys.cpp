// SPDX-License-Identifier: MIT
//
// All keys of thread-specific data are taken before the malloc asks for one, so it is not told when a thread ends:
// everything works, and hundreds of threads leave little behind, and no heap: the few that there are belong to all.
// link: so
#include "faults_work.hpp"
#include "process_statistics.hpp"

#include <climits>

using namespace process_test;

namespace {

unsigned made;

void take_all_keys() {
    for (pthread_key_t key; pthread_key_create(&key, nullptr) == 0;) {
        ++made;
    }
}
/// Before the constructor of any library.
[[gnu::used, gnu::section(".preinit_array")]] void (*const first)() = take_all_keys;

} // namespace

int main() {
    take_all_keys();
    dprintf(1, "%u keys taken\n", made);
    CHECK(made > PTHREAD_KEYS_MAX / 2);
    faults::work();
    std::size_t early = 0;
    const cairn_statistics before = statistics();
    for (unsigned i = 0; i < 400; ++i) {
        in_thread([] {
            free(malloc(100));
            free(malloc(10000));
        });
        early = i == 50 ? resident() : early;
    }
    dprintf(1, "%.1f MiB after 50 threads, %.1f MiB after 400\n", mebibytes(early), mebibytes(resident()));
    CHECK(resident() < early + 4 * MiB);
    const cairn_statistics after = statistics();
    dprintf(1, "%zu heaps before, %zu after, %zu at most\n", static_cast<std::size_t>(before.heaps),
            static_cast<std::size_t>(after.heaps), static_cast<std::size_t>(after.heaps_peak));
    CHECK(after.heaps == before.heaps && after.heaps_peak < 100);
    CHECK(faults::refused == 0);
}
