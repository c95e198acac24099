// SPDX-License-Identifier: MIT
//
// membarrier is taken away while threads sleep that have memory, of which others free most: nobody can take it from
// them before they come by, and the purger does not try again and again.
#include "life_purger_thread.hpp"
#include "works_filter.hpp"

using namespace process_test;

namespace {

constexpr unsigned threads = 8;
constexpr std::size_t count = 20000;
char **blocks_of[threads];
pthread_barrier_t made;

void *make_and_sleep(void *argument) {
    auto **const blocks = static_cast<char **>(malloc(count * sizeof(char *)));
    CHECK(blocks != nullptr);
    for (std::size_t i = 0; i < count; ++i) {
        blocks[i] = static_cast<char *>(malloc(500));
        CHECK(blocks[i] != nullptr);
        blocks[i][0] = 1;
    }
    *static_cast<char ***>(argument) = blocks;
    pthread_barrier_wait(&made);
    pause();
    return nullptr;
}

} // namespace

int main() {
    CHECK(pthread_barrier_init(&made, nullptr, threads + 1) == 0);
    for (char **&blocks : blocks_of) {
        pthread_t thread;
        CHECK(pthread_create(&thread, nullptr, make_and_sleep, &blocks) == 0);
    }
    pthread_barrier_wait(&made);
    Filter filter;
    filter.deny(SYS_membarrier, EPERM).install();
    for (char **const blocks : blocks_of) {
        for (std::size_t i = 0; i < count; ++i) {
            if (i % 10 != 0) {
                free(blocks[i]);
            }
        }
    }
    // On a busy machine it takes longer until it has looked at all of them.
    std::size_t times = 0;
    for (int i = 0; i == 0 || (times > 2 && i < 6); ++i) {
        sleep_seconds(i == 0 ? 2 : 0);
        const std::size_t before = sleeps_of_purger();
        sleep_seconds(3);
        times = sleeps_of_purger() - before;
        dprintf(1, "the purger went to sleep %zu times in three seconds\n", times);
    }
    CHECK(times <= 2);
}
