// SPDX-License-Identifier: MIT
//
// mallinfo2 and mallinfo: each field moves with what the program does, as mallinfo(3) says.
// env: CAIRN_OPTIONS=purge_delay:never
#include "process_test.hpp"

#include <climits>
#include <malloc.h>
#include <thread>

using namespace process_test;

namespace {

bool near(std::size_t value, std::size_t wanted, std::size_t slack) {
    return value + slack >= wanted && value <= wanted + slack;
}

void sound(const struct mallinfo2 &m) {
    CHECK(m.arena == m.uordblks + m.fordblks);
    CHECK(m.smblks == 0 && m.usmblks == 0 && m.fsmblks == 0);
    CHECK(m.keepcost <= m.fordblks);
}

void huge() {
    const struct mallinfo2 before = mallinfo2();
    void *const p = std::malloc(100 * MiB);
    const struct mallinfo2 during = mallinfo2();
    CHECK(during.hblks == before.hblks + 1);
    CHECK(near(during.hblkhd, before.hblkhd + 100 * MiB, 64 * KiB));
    CHECK(during.uordblks == before.uordblks);
    std::free(p);
    const struct mallinfo2 after = mallinfo2();
    CHECK(after.hblks == before.hblks && after.hblkhd == before.hblkhd);
}

void large() {
    const struct mallinfo2 before = mallinfo2();
    void *blocks[20];
    for (void *&p : blocks) {
        p = std::malloc(1 * MiB);
    }
    const struct mallinfo2 during = mallinfo2();
    CHECK(near(during.uordblks, before.uordblks + 20 * MiB, 64 * KiB));
    CHECK(during.hblkhd == before.hblkhd);
    sound(during);
    free_all(blocks);
    const struct mallinfo2 after = mallinfo2();
    CHECK(near(after.uordblks, before.uordblks, 64 * KiB));
    CHECK(after.fordblks >= during.fordblks + 19 * MiB);
    CHECK(after.keepcost >= during.keepcost + 19 * MiB);
    sound(after);
}

void small() {
    constexpr std::size_t count = 100000;
    constexpr std::size_t size = 1024;
    static void *blocks[count];
    const struct mallinfo2 before = mallinfo2();
    for (void *&p : blocks) {
        p = std::malloc(size);
    }
    const struct mallinfo2 during = mallinfo2();
    CHECK(near(during.uordblks, before.uordblks + count * size, 64 * KiB));
    CHECK(during.arena >= before.uordblks + count * size);
    sound(during);
    for (std::size_t i = 0; i < count; i += 2) { // blocks that are free between others
        std::free(blocks[i]);
    }
    const struct mallinfo2 half = mallinfo2();
    CHECK(near(half.uordblks, before.uordblks + count / 2 * size, 64 * KiB));
    CHECK(half.ordblks >= during.ordblks + count / 2 - 100);
    CHECK(half.keepcost + count / 2 * size <=
          half.fordblks + 64 * KiB); // malloc_trim can not give these back
    sound(half);
    for (std::size_t i = 1; i < count; i += 2) {
        std::free(blocks[i]);
    }
    CHECK(near(mallinfo2().uordblks, before.uordblks, 64 * KiB));
}

/// Blocks that another thread has freed, and keeps for a while to give them back together.
void gathered() {
    constexpr std::size_t count = 15;
    void *blocks[count];
    for (void *&p : blocks) {
        p = std::malloc(200);
    }
    std::thread([&] {
        std::free(std::malloc(1));
        const std::size_t live = mallinfo2().uordblks;
        free_all(blocks);
        CHECK(live >= mallinfo2().uordblks + count * 200);
    }).join();
}

/// The int fields of the older one say at least as much as they can.
void older() {
    void *const p = std::malloc(5 * GiB);
    CHECK(p != nullptr);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const struct mallinfo m = mallinfo();
#pragma GCC diagnostic pop
    const struct mallinfo2 m2 = mallinfo2();
    CHECK(m2.hblkhd >= 5 * GiB && m.hblkhd == INT_MAX);
    CHECK(static_cast<std::size_t>(m.uordblks) == m2.uordblks &&
          static_cast<std::size_t>(m.arena) == m2.arena);
    CHECK(m.hblks == 1 && static_cast<std::size_t>(m.keepcost) == m2.keepcost);
    std::free(p);
}

} // namespace

int main() {
    std::free(std::malloc(1));
    sound(mallinfo2());
    huge();
    large();
    small();
    gathered();
    older();
}
