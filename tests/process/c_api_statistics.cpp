// SPDX-License-Identifier: MIT
//
// The C interface: version, statistics as a struct that may be of another version, as JSON, and purging.
// link: so
// env: CAIRN_OPTIONS=purge_delay:never,background:off
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <cerrno>

using namespace process_test;

namespace {

cairn_statistics statistics() {
    cairn_statistics s;
    s.size = sizeof s;
    CHECK(cairn_get_statistics(&s) == 0);
    CHECK(s.live == s.small_live + s.large_live + s.huge_live);
    return s;
}

void figures_move() {
    const cairn_statistics before = statistics();
    void *const small = std::malloc(1000);
    void *const large = std::malloc(1 * MiB);
    void *const huge = std::malloc(64 * MiB);
    const cairn_statistics during = statistics();
    CHECK(during.small_live == before.small_live + 1024);
    CHECK(during.large_live == before.large_live + 1 * MiB && during.large_live_blocks == 1);
    CHECK(during.huge_live == before.huge_live + 64 * MiB && during.huge_live_blocks == 1);
    CHECK(during.mapped >= 64 * MiB && during.mapped_peak >= during.mapped);
    CHECK(during.heaps == 1 && during.superblocks > 0 && during.metadata > 0);
    std::free(small);
    std::free(large);
    std::free(huge);
    CHECK(statistics().live == before.live);
    in_threads(3, [](unsigned) { std::free(std::malloc(10)); });
    CHECK(statistics().heaps_peak >= 2);
}

/// The threads' heaps hand their superblocks, which are not empty, to the global heap, and the next thread gets them
/// there.
void superblocks_move() {
    constexpr unsigned count = 20;
    static void *blocks[count];
    const cairn_statistics before = statistics();
    const auto take = [](unsigned) {
        for (void *&p : blocks) {
            CHECK((p = std::malloc(3000)) != nullptr);
        }
    };
    in_threads(1, take);
    const cairn_statistics after = statistics();
    CHECK(after.superblocks_fresh > before.superblocks_fresh);
    CHECK(after.superblocks_to_global > before.superblocks_to_global);
    free_all(blocks);
    in_threads(1, [](unsigned) { blocks[0] = std::malloc(3000); });
    CHECK(blocks[0] != nullptr && statistics().superblocks_from_global > after.superblocks_from_global);
    std::free(blocks[0]);
}

void sizes() {
    errno = 0;
    CHECK(cairn_get_statistics(nullptr) == -1 && errno == EINVAL);
    cairn_statistics s;
    errno = 0;
    s.size = sizeof s.size;
    CHECK(cairn_get_statistics(&s) == -1 && errno == EINVAL);
    // Less than a field: no struct of any version.
    s.size = offsetof(cairn_statistics, small_live) - 1;
    CHECK(cairn_get_statistics(&s) == -1 && errno == EINVAL);
    s.size = offsetof(cairn_statistics, small_live);
    s.live = s.small_live = 0x5555555555555555;
    CHECK(cairn_get_statistics(&s) == 0);
    CHECK(s.live != 0x5555555555555555 && s.small_live == 0x5555555555555555);
    // A program of an older version has a shorter struct.
    std::memset(&s, 0x55, sizeof s);
    s.size = offsetof(cairn_statistics, huge_live);
    CHECK(cairn_get_statistics(&s) == 0);
    CHECK(s.size == offsetof(cairn_statistics, huge_live) && s.heaps == 1);
    CHECK(s.huge_live == 0x5555555555555555 && s.superblocks_fresh == 0x5555555555555555);
    // One of a newer version a longer one.
    struct {
        cairn_statistics known;
        std::uint64_t more;
    } longer;
    longer.more = 7;
    longer.known.size = sizeof longer;
    CHECK(cairn_get_statistics(&longer.known) == 0);
    CHECK(longer.known.heaps == 1 && longer.more == 7);
}

void json() {
    static char whole[16 * KiB];
    const std::size_t length = cairn_statistics_json(nullptr, 0);
    std::memset(whole, 0x55, sizeof whole);
    CHECK(cairn_statistics_json(whole, sizeof whole) == length && std::strlen(whole) == length);
    CHECK(std::strncmp(whole, "{\"allocator\":\"cairn\",", 21) == 0);
    CHECK(std::strcmp(whole + length - 4, "}]}\n") == 0);
    char part[30];
    std::memset(part, 0x55, sizeof part);
    CHECK(cairn_statistics_json(part, 20) == length);
    CHECK(std::strlen(part) == 19 && std::strncmp(part, whole, 19) == 0 && part[20] == 0x55);
    CHECK(cairn_statistics_json(whole, length) == length && std::strlen(whole) == length - 1);
}

void purge() {
    void *const p = std::malloc(10 * MiB);
    std::memset(p, 1, 10 * MiB);
    std::free(p);
    const std::size_t before = resident();
    CHECK(statistics().free_dirty >= 10 * MiB);
    const cairn_statistics dirty = statistics();
    CHECK(cairn_purge() >= 10 * MiB);
    CHECK(resident() + 9 * MiB < before);
    const cairn_statistics clean = statistics();
    CHECK(clean.free_dirty == 0 && clean.purged >= 10 * MiB);
    CHECK(cairn_purge() == 0);
    void *const huge = std::malloc(40 * MiB); // its mapping is kept for a while
    std::free(huge);
    CHECK(statistics().free_dirty >= 40 * MiB);
    CHECK(cairn_purge() >= 40 * MiB);
    const std::uint64_t purged = statistics().purged;
    CHECK(purged >= clean.purged + 40 * MiB);
    void *const cut = std::realloc(std::malloc(2 * MiB), 1 * MiB + 4 * KiB); // the rest of a slot goes back
    CHECK(statistics().purged >= purged + 56 * KiB);
    std::free(cut);
    CHECK(clean.purges > dirty.purges && clean.free_clean >= dirty.free_clean + 10 * MiB);
}

} // namespace

int main() {
    CHECK(std::strcmp(cairn_version(), CAIRN_VERSION_STRING) == 0);
    std::free(std::malloc(1000));
    sizes();
    figures_move();
    superblocks_move();
    json();
    purge();
}
