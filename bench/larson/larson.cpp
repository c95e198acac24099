// SPDX-License-Identifier: MIT
// Larson (LKmalloc, section 7; Hoard, section 5.2; NBmalloc, section 6): a server. A thread inherits
// blocks, makes a number of random replacements (free one, allocate another of random size), starts its
// successor, hands all its blocks to it and ends. The documents run for 30 or 60 seconds and count
// operations; here the number of operations is fixed, so that every allocator does the same work.
//
// Settings: `hoard` 10,000 blocks of 10 to 100 bytes; `lkmalloc` 1,000 blocks of 10 to 1,000 bytes, 50,000
// replacements a thread (2 % bleeding); `nbmalloc` 5 to 500 bytes. Where a document names no number of blocks
// or replacements, LKmalloc's are used: 1,000 blocks, 50 replacements a block.
#include "../common/block.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cinttypes>
#include <pthread.h>
#include <semaphore>

using namespace cairn::bench;

namespace {

struct Setting {
    const char *name;
    std::size_t blocks, low, high, replacements, rounds;
};

constexpr Setting settings[] = {
    {"hoard", 10000, 10, 100, 500000, 60},
    {"lkmalloc", 1000, 10, 1000, 50000, 600},
    {"nbmalloc", 1000, 5, 500, 50000, 600},
};

// One thread at a time runs a chain; what it holds passes from each to the next.
struct Chain {
    Chain(const Setting &chosen, std::uint64_t seed) : setting(chosen), held(chosen.blocks), random(seed) {}

    void renew(std::size_t index) {
        Held &slot = held[index];
        slot.size = random.between(setting.low, setting.high);
        slot.tag = random.next();
        slot.block = take(slot.size, slot.tag);
        bytes += slot.size;
    }

    void replace() {
        const std::size_t index = random.below(setting.blocks);
        drop(held[index].block, held[index].size, held[index].tag);
        renew(index);
    }

    const Setting &setting;
    Table<Held> held;
    Random random;
    std::uint64_t rounds_left = 0;
    std::uint64_t bytes = 0;
    pthread_t previous{};
    bool has_previous = false;
    std::binary_semaphore ended{0};
};

void *serve(void *argument);

void start_successor(Chain &chain) {
    pthread_t successor;
    if (pthread_create(&successor, nullptr, serve, &chain) != 0) {
        std::perror("pthread_create");
        std::exit(4);
    }
}

void *serve(void *argument) {
    Chain &chain = *static_cast<Chain *>(argument);
    for (std::size_t i = 0; i < chain.setting.replacements; ++i)
        chain.replace();
    // Joined only now, so that the predecessor's end runs beside its successor's work.
    if (chain.has_previous)
        pthread_join(chain.previous, nullptr);
    chain.previous = pthread_self();
    chain.has_previous = true;
    if (--chain.rounds_left == 0) {
        chain.ended.release();
    } else {
        start_successor(chain);
    }
    return nullptr;
}

const Setting *find_setting(std::string_view name) {
    for (const Setting &setting : settings) {
        if (name == setting.name)
            return &setting;
    }
    return nullptr;
}

} // namespace

int main(int argc, char **argv) {
    Options options(
        argc, argv,
        "threads that replace blocks and hand them on (LKmalloc, section 7; Hoard, 5.2; NBmalloc, 6)");
    const char *name = options.word("setting", "hoard", "hoard, lkmalloc or nbmalloc");
    const Setting *preset = find_setting(name);
    if (preset == nullptr)
        options.refuse("setting", name);
    Setting setting = *preset;
    const std::size_t threads = options.some("threads", 2, "chains of threads at work at once");
    setting.blocks = options.some("blocks", setting.blocks, "blocks that a thread holds");
    setting.low = options.number("low", setting.low, "smallest block");
    setting.high = options.high(setting.low, setting.high, "largest block");
    setting.replacements = options.number("replacements", setting.replacements, "replacements a thread");
    setting.rounds = options.work("rounds", setting.rounds, "threads of a chain, one after the other");
    options.finish();

    Table<Chain *> chains(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        // As in the documents the first blocks of all chains come from the main thread.
        chains[i] = new Chain(setting, i + 1);
        for (std::size_t block = 0; block < setting.blocks; ++block)
            chains[i]->renew(block);
        chains[i]->rounds_left = setting.rounds;
    }
    for (std::size_t i = 0; i < threads; ++i)
        start_successor(*chains[i]);

    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < threads; ++i) {
        Chain &chain = *chains[i];
        chain.ended.acquire();
        pthread_join(chain.previous, nullptr);
        for (std::size_t block = 0; block < setting.blocks; ++block)
            drop(chain.held[block].block, chain.held[block].size, chain.held[block].tag);
        bytes += chain.bytes;
        delete chains[i];
    }
    std::printf("larson %s: %zu replacements, %" PRIu64 " bytes requested\n", setting.name,
                threads * setting.rounds * setting.replacements, bytes);
}
