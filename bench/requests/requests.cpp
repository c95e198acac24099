// SPDX-License-Identifier: MIT
// A request server: each request allocates some hundred blocks of mixed sizes, frees nearly all of them at its end, in
// a burst, and leaves a few behind in a cache that all threads share, where they push out older ones, mostly another
// thread's. The time of each single call is taken; the percentiles go to stderr, as a line that begins with "figures:",
// since they differ from run to run.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/gauge.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cinttypes>
#include <ctime>
#include <mutex>
#include <utility>

using namespace cairn::bench;

namespace {

// Nanoseconds in steps of an eighth of a doubling.
class Histogram {
public:
    void add(std::uint64_t nanoseconds) { ++counts_[bucket(nanoseconds)]; }
    void add(const Histogram &other) {
        for (std::size_t i = 0; i < buckets; ++i)
            counts_[i] += other.counts_[i];
    }
    std::uint64_t percentile(double part) const {
        std::uint64_t all = 0;
        for (const std::uint64_t count : counts_)
            all += count;
        const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(all));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < buckets; ++i) {
            seen += counts_[i];
            if (seen > wanted)
                return value(i);
        }
        return value(buckets - 1);
    }

private:
    static constexpr std::size_t buckets = 64 * 8;

    static std::size_t bucket(std::uint64_t n) {
        if (n < 8)
            return n;
        const auto power = static_cast<std::size_t>(std::bit_width(n)) - 1;
        return (power - 2) * 8 + ((n >> (power - 3)) & 7);
    }
    static std::uint64_t value(std::size_t i) {
        return i < 8 ? i : (std::uint64_t{8} | (i & 7)) << (i / 8 - 1);
    }

    std::array<std::uint64_t, buckets> counts_{};
};

std::uint64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
}

std::size_t draw_size(Random &random) {
    const std::uint64_t kind = random.below(1000);
    return kind == 0   ? random.between(64 << 10, 256 << 10)
           : kind < 30 ? random.between(1025, 16 << 10)
                       : random.log_between(8, 1023);
}

} // namespace

int main(int argc, char **argv) {
    Options options(
        argc, argv,
        "bursts of mixed blocks, a few live on; how long single calls take (after LKmalloc, section 3.2)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t blocks = options.number("blocks", 300, "blocks of a request");
    const std::size_t slots = options.number("cache", 100000, "blocks that live on, over all threads");
    const std::size_t kept = options.number("kept", 6, "blocks of a request that go into the cache");
    const std::uint64_t requests = options.work("requests", 60000, "over all threads");
    options.finish();

    Gauge live;
    Table<Held> cache(slots);
    constexpr std::size_t stripes = 64;
    std::array<std::mutex, stripes> locks;
    Table<Histogram> mallocs(threads);
    Table<Histogram> frees(threads);
    std::atomic<std::uint64_t> next{0};
    run_crew(threads, [&](std::size_t self) {
        Table<Held> held(blocks);
        const auto allocate = [&](Held &slot, Random &random) {
            slot.size = draw_size(random);
            slot.tag = random.next();
            const std::uint64_t start = now();
            slot.block = std::malloc(slot.size);
            mallocs[self].add(now() - start);
            expect_sound(slot.block, slot.size);
            stamp(slot.block, slot.size, slot.tag);
            touch_pages(slot.block, slot.size);
        };
        const auto release = [&](const Held &slot) {
            if (!stamped(slot.block, slot.size, slot.tag))
                wrong("contents of a live block changed", slot.block, slot.size);
            const std::uint64_t start = now();
            std::free(slot.block);
            frees[self].add(now() - start);
        };
        for (std::uint64_t request = next++; request < requests; request = next++) {
            Random random(request + 1);
            std::uint64_t bytes = 0;
            for (std::size_t i = 0; i < blocks; ++i) {
                allocate(held[i], random);
                bytes += held[i].size;
            }
            live.add(std::exchange(bytes, 0));
            for (std::size_t i = 0; i < kept && i < blocks; ++i) {
                const std::size_t slot = random.below(slots);
                const std::scoped_lock hold(locks[slot % stripes]);
                std::swap(cache[slot], held[random.below(blocks)]);
            }
            for (std::size_t i = 0; i < blocks; ++i)
                if (held[i].block != nullptr) {
                    release(held[i]);
                    bytes += held[i].size;
                }
            live.take(bytes);
        }
        return 0;
    });
    for (std::size_t i = 0; i < slots; ++i)
        if (cache[i].block != nullptr)
            drop(cache[i].block, cache[i].size, cache[i].tag);
    for (std::size_t i = 1; i < threads; ++i) {
        mallocs[0].add(mallocs[i]);
        frees[0].add(frees[i]);
    }
    std::fprintf(stderr, "figures: {");
    for (const auto &[name, histogram] : {std::pair{"malloc", &mallocs[0]}, std::pair{"free", &frees[0]}})
        std::fprintf(stderr,
                     "\"%s_p50_ns\": %" PRIu64 ", \"%s_p99_ns\": %" PRIu64 ", \"%s_p999_ns\": %" PRIu64 "%s",
                     name, histogram->percentile(0.5), name, histogram->percentile(0.99), name,
                     histogram->percentile(0.999), name[0] == 'm' ? ", " : "}\n");
    std::printf("requests: %" PRIu64 " requests of %zu blocks\n", requests, blocks);
}
