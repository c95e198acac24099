// SPDX-License-Identifier: MIT
// Patterns of malloc and free: blocks that are freed last in first out, first in first out, in random order, or
// replaced one at a time; buffers, pictures, and what a frame of a game allocates. Each thread by itself.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/random.hpp"
#include "pattern.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cairn::bench::patterns {
namespace {

// A block whose first byte is written, as by a program that begins to use it.
char *block_of(std::size_t size) {
    auto *const block = static_cast<char *>(std::malloc(size));
    expect_sound(block, size);
    *static_cast<volatile char *>(block) = 1;
    return block;
}

// Rounds of `count` blocks of size(random), which are then freed in the order that `freed` gives.
template <class Size, class Order>
std::uint64_t batches(const Job &job, std::uint64_t rounds, std::size_t count, Size size, Order order) {
    return run_crew(job.threads, [=](std::size_t thread) {
        Random random(thread);
        std::vector<char *> blocks(count);
        const std::vector<std::size_t> freed = order(count, random);
        std::uint64_t bytes = 0;
        for (std::uint64_t round = 0; round < job.share(rounds); ++round) {
            for (char *&block : blocks) {
                const std::size_t length = size(random);
                block = block_of(length);
                bytes += length;
            }
            for (const std::size_t i : freed)
                std::free(blocks[i]);
        }
        return bytes;
    });
}

std::vector<std::size_t> forwards(std::size_t count, Random &) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}
std::vector<std::size_t> backwards(std::size_t count, Random &random) {
    std::vector<std::size_t> order = forwards(count, random);
    std::reverse(order.begin(), order.end());
    return order;
}
std::vector<std::size_t> scattered(std::size_t count, Random &random) {
    std::vector<std::size_t> order = forwards(count, random);
    for (std::size_t left = count; left > 1; --left)
        std::swap(order[left - 1], order[random.below(left)]);
    return order;
}

// Replaces one of `count` blocks at a time. use(block, size) writes to the new one.
template <class Size, class Use>
std::uint64_t replacements(const Job &job, std::uint64_t steps, std::size_t count, Size size, Use use) {
    return run_crew(job.threads, [=](std::size_t thread) {
        Random random(thread);
        std::vector<char *> blocks(count);
        std::uint64_t bytes = 0;
        for (std::uint64_t step = 0; step < job.share(steps); ++step) {
            char *&block = blocks[random.below(count)];
            std::free(block);
            const std::size_t length = size(random);
            block = block_of(length);
            use(block, length);
            bytes += length;
        }
        for (char *const block : blocks)
            std::free(block);
        return bytes;
    });
}
void use_ends(char *block, std::size_t size) {
    *static_cast<volatile char *>(block + size - 1) = 1;
}

std::uint64_t stack(const Job &job) {
    return batches(job, 30'000, 1'000, [](Random &) { return 48; }, backwards);
}
std::uint64_t queue(const Job &job) {
    return batches(job, 4'000, 10'000, [](Random &) { return 64; }, forwards);
}
std::uint64_t scatter(const Job &job) {
    return batches(job, 60, 100'000, [](Random &random) { return random.between(16, 255); }, scattered);
}
std::uint64_t frame(const Job &job) {
    return batches(job, 3'000, 8'000, [](Random &random) { return 16 << random.below(6); }, forwards);
}
std::uint64_t one_size(const Job &job) {
    return replacements(job, 8'000'000, 300'000, [](Random &) { return 24; }, use_ends);
}
std::uint64_t mixed(const Job &job) { // mostly short
    return replacements(
        job, 8'000'000, 20'000,
        [](Random &random) {
            const std::uint64_t kind = random.below(100);
            return kind < 70   ? random.between(8, 127)
                   : kind < 95 ? random.between(128, 2'127)
                               : random.between(2'000, 31'999);
        },
        use_ends);
}
std::uint64_t buffers(const Job &job) {
    return replacements(
        job, 8'000'000, 500, [](Random &random) { return std::size_t{4'096} << 2 * random.below(3); },
        [](char *block, std::size_t) { std::memset(block, 1, 256); });
}
std::uint64_t pages(const Job &job) {
    return replacements(
        job, 1'500'000, 400, [](Random &random) { return random.between(4'096, 124'000); }, touch_pages);
}
std::uint64_t pictures(const Job &job) {
    return replacements(
        job, 1'500, 4,
        [](Random &random) { return random.between(640, 1'920) * random.between(480, 1'080) * 3; },
        [](char *block, std::size_t size) { std::memset(block, 1, size); });
}
std::uint64_t aligned(const Job &job) {
    return run_crew(job.threads, [=](std::size_t thread) {
        Random random(thread);
        std::vector<void *> blocks(512);
        std::uint64_t bytes = 0;
        for (std::uint64_t step = 0; step < job.share(10'000'000); ++step) {
            void *&block = blocks[random.below(blocks.size())];
            std::free(block);
            const std::size_t size = 64 * random.between(1, 16);
            block = std::aligned_alloc(64, size);
            expect_sound(block, size);
            *static_cast<volatile char *>(block) = 1;
            bytes += size;
        }
        for (void *const block : blocks)
            std::free(block);
        return bytes;
    });
}

constexpr Pattern all[] = {
    {"stack", "1,000 blocks of 48 bytes at a time, freed last in first out", stack},
    {"queue", "10,000 blocks of 64 bytes at a time, freed first in first out", queue},
    {"scatter", "100,000 blocks of 16 to 255 bytes at a time, freed in random order", scatter},
    {"frame", "8,000 blocks of 16 to 512 bytes, freed at the end of a frame", frame},
    {"one-size", "one of 300,000 blocks of 24 bytes replaced at a time", one_size},
    {"mixed", "one of 20,000 blocks replaced at a time, most below 128 bytes, one in 20 up to 32 KB", mixed},
    {"buffers", "one of 500 buffers of 4, 16 or 64 KiB replaced at a time, 256 bytes written", buffers},
    {"pages", "one of 400 blocks of 4 to 124 KB replaced at a time, a byte of each page written", pages},
    {"pictures", "one of four pictures of 1 to 6 MB replaced at a time, all of it written", pictures},
    {"aligned", "one of 512 blocks of 64 to 1,024 bytes at a cache line replaced at a time", aligned},
};

} // namespace

std::span<const Pattern> of_blocks() {
    return all;
}

} // namespace cairn::bench::patterns
