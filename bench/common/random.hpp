// SPDX-License-Identifier: MIT
// A small, fast, seeded generator (splitmix64: Steele, Lea, Flood, OOPSLA 2014), so that a workload makes
// the same calls under every allocator.
#pragma once

#include <bit>
#include <cstdint>

namespace cairn::bench {

class Random {
public:
    // Threads have seeds 1, 2, 3 and so on. A state that is linear in the seed would give all of them one sequence,
    // each a few steps further on: so the seed is mixed first.
    explicit constexpr Random(std::uint64_t seed) : state_(mixed((seed + 1) * step + 1) * step + 1) {}

    constexpr std::uint64_t next() { return mixed(state_ += step); }

    // Uniform in [0, bound); bound below 2^32.
    constexpr std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

    // Uniform in [low, high].
    constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
        return low + below(high - low + 1);
    }

    // In [low, high], each doubling equally likely: small sizes are much more frequent than large ones.
    constexpr std::uint64_t log_between(std::uint64_t low, std::uint64_t high) {
        const auto doublings = static_cast<std::uint64_t>(std::bit_width(high / low));
        const std::uint64_t base = low << below(doublings);
        const std::uint64_t top = base * 2 - 1 < high ? base * 2 - 1 : high;
        return between(base, top);
    }

private:
    static constexpr std::uint64_t step = 0x9e3779b97f4a7c15U;

    static constexpr std::uint64_t mixed(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

// The next seed's is not this one's from the second number on.
static_assert([] {
    Random one(1);
    one.next();
    return one.next() != Random(2).next();
}());

} // namespace cairn::bench
