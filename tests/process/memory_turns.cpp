// SPDX-License-Identifier: MIT
//
// Threads that take turns with little memory, a long block among the others now and then: superblocks get what long
// blocks had, which then need memory again, so that the process takes more although no heap grows when that is asked
// for. What superblocks have must stay within the bound all the same (docs/bound.md), however long it goes on.
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <dlfcn.h>
#include <semaphore.h>

using namespace process_test;

namespace {

constexpr unsigned threads = 8;
constexpr unsigned turns = 4000;
constexpr unsigned replacements = 300; // a turn
constexpr unsigned slots = 64;

sem_t token[threads];
std::size_t live, most_live, most_in_superblocks; // of who has the token

std::size_t in_superblocks() {
    static const auto get =
        reinterpret_cast<int (*)(cairn_statistics *)>(dlsym(RTLD_DEFAULT, "cairn_get_statistics"));
    cairn_statistics now{};
    now.size = sizeof now;
    CHECK(get != nullptr && get(&now) == 0);
    return now.small_resident;
}

void *take_turns(void *number) {
    const auto self = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(number));
    static void *blocks[threads][slots];
    static std::size_t sizes[threads][slots];
    std::uint64_t state = (self + 1) * 0x9e3779b97f4a7c15u;
    const auto below = [&](std::uint64_t limit) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % limit;
    };
    for (unsigned turn = 0; turn < turns; ++turn) {
        sem_wait(&token[self]);
        for (unsigned i = 0; i < replacements; ++i) {
            const std::size_t slot = below(slots);
            free(blocks[self][slot]);
            live -= sizes[self][slot];
            const std::size_t size = 1 + below(below(50) != 0 ? 5000 : 400000);
            void *const p = malloc(size);
            CHECK(p != nullptr);
            std::memset(p, 1, size);
            blocks[self][slot] = p;
            sizes[self][slot] = size;
            live += size;
            most_live = live > most_live ? live : most_live;
        }
        if (self == 0) {
            const std::size_t now = in_superblocks();
            most_in_superblocks = now > most_in_superblocks ? now : most_in_superblocks;
        }
        sem_post(&token[(self + 1) % threads]);
    }
    return nullptr;
}

} // namespace

int main() {
    for (unsigned i = 0; i < threads; ++i) {
        sem_init(&token[i], 0, i == 0);
    }
    pthread_t all[threads];
    for (std::uintptr_t i = 0; i < threads; ++i) {
        CHECK(pthread_create(&all[i], nullptr, take_turns, reinterpret_cast<void *>(i)) == 0);
    }
    for (const pthread_t one : all) {
        pthread_join(one, nullptr);
    }
    const std::size_t limit = most_live * 172 / 100 + (threads + 1) * 143 / 100 * 218 * MiB / 100;
    dprintf(1, "live %.1f MiB at most, in superblocks %.1f, limit %.1f\n", mebibytes(most_live),
            mebibytes(most_in_superblocks), mebibytes(limit));
    CHECK(most_in_superblocks <= limit);
}
