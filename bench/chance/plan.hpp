// SPDX-License-Identifier: MIT
// What a workload by chance does, drawn from its seed. Figures are drawn so that each doubling is as likely as any
// other.
#pragma once

#include "../common/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

namespace cairn::bench {

inline double fraction(Random &random) {
    return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

inline double log_uniform(Random &random, double low, double high) {
    return low * std::pow(high / low, fraction(random));
}

// The sizes of blocks, by one of six laws. They are drawn beforehand: a logarithm costs more than a malloc.
class Sizes {
public:
    static constexpr std::size_t longest = 4 << 20;

    explicit Sizes(Random &random) : law_(static_cast<Law>(random.below(laws))) {
        low_ = log_uniform(random, 8, 1600);
        const double spread = law_ == Law::two ? 64 : low_ < 64 ? 2000 : 200;
        high_ = std::min(low_ * log_uniform(random, 1, spread), static_cast<double>(longest));
        for (double &one : few_)
            one = std::floor(log_uniform(random, 8, random.below(4) == 0 ? 80000 : 2400));
        different_ = law_ == Law::one ? 1 : 1 + random.below(few_.size());
        for (std::size_t &size : drawn_)
            size = static_cast<std::size_t>(by_law(random));
    }

    std::size_t draw(Random &random) const { return drawn_[random.below(drawn_.size())]; }

    double mean() const {
        return static_cast<double>(std::accumulate(drawn_.begin(), drawn_.end(), std::size_t{0})) /
               static_cast<double>(drawn_.size());
    }

    void print() const {
        static constexpr const char *names[] = {"all of",      "one of", "uniform",
                                                "log-uniform", "power",  "two of"};
        std::printf(" %s", names[static_cast<int>(law_)]);
        if (law_ == Law::one || law_ == Law::few) {
            for (std::size_t i = 0; i < different_; ++i)
                std::printf(" %.0f", few_[i]);
        } else {
            std::printf(" %.0f to %.0f", low_, high_);
        }
        std::putchar(';');
    }

private:
    enum class Law : unsigned char { one, few, uniform, log_uniform, power, two };
    static constexpr std::uint64_t laws = 6;

    double by_law(Random &random) const {
        switch (law_) {
        case Law::uniform:
            return low_ + fraction(random) * (high_ - low_);
        case Law::log_uniform:
            return log_uniform(random, low_, high_);
        case Law::power: // Pareto's
            return std::min(low_ / std::pow(1 - fraction(random), 0.77), high_);
        case Law::two:
            return random.below(32) == 0 ? high_ : low_;
        default:
            return few_[random.below(different_)];
        }
    }

    Law law_;
    double low_, high_;
    std::array<double, 6> few_;
    std::size_t different_;
    std::array<std::size_t, 1024> drawn_;
};

enum class Order : unsigned char { replace, queue, young, in_order, stack, cull };
enum class Touch : unsigned char { never_again, ends, all };

struct Plan {
    Plan(std::uint64_t seed, std::uint64_t threads_wanted) {
        Random random(seed);
        static constexpr std::size_t some[] = {1, 1, 2, 2, 4, 8};
        threads = some[random.below(std::size(some))];
        if (threads_wanted != 0)
            threads = threads_wanted;
        const std::uint64_t count = random.below(2) == 0 ? 1 : 2 + random.below(3);
        for (std::uint64_t i = 0; i < count; ++i)
            laws.emplace_back(random);
        for (const Sizes &law : laws)
            mean = std::max(mean, law.mean());
        const double bytes = log_uniform(random, 200e3, 200e6);
        live = static_cast<std::size_t>(std::clamp(bytes / mean / static_cast<double>(threads), 4.0, 300e3));
        order = static_cast<Order>(random.below(6));
        touch = static_cast<Touch>(random.below(3));
        handed = threads == 1 || random.below(2) == 0 ? 0 : 1 + random.below(100);
        grown = random.below(4) == 0 ? random.below(40) : 0;
        zeroed = random.below(4) == 0 ? random.below(50) : 0;
        aligned = random.below(6) == 0 ? random.below(30) : 0;
        generations = random.below(5) == 0 ? 8 : 1;
    }

    // Blocks of a thread and generation: what is touched costs, and there are enough for several turns.
    std::uint64_t blocks(std::uint64_t cost) const {
        const double each = 1 + mean / (touch == Touch::all ? 600 : 6000);
        const double all =
            std::max(static_cast<double>(cost) * 2000 / each, 8.0 * static_cast<double>(live * threads));
        return static_cast<std::uint64_t>(all / static_cast<double>(threads * generations));
    }

    void print() const {
        static constexpr const char *orders[] = {"replaced at random",          "replaced in turn",
                                                 "mostly short-lived",          "in batches, freed in order",
                                                 "in batches, freed backwards", "in batches, a part kept"};
        static constexpr const char *touches[] = {"never looked at again", "looked at when freed", "filled"};
        std::printf("chance: %zu threads of %u generations, %zu blocks each, %s, %s, %zu %% handed over, %zu "
                    "%% grown, "
                    "%zu %% zeroed, %zu %% aligned;",
                    threads, generations, live, orders[static_cast<int>(order)],
                    touches[static_cast<int>(touch)], handed, grown, zeroed, aligned);
        for (const Sizes &law : laws)
            law.print();
        std::putchar('\n');
    }

    std::size_t threads;
    std::vector<Sizes> laws; ///< one after the other
    double mean = 0;         ///< of the law with the largest
    std::size_t live;        ///< of a thread, at most
    Order order;
    Touch touch;
    std::size_t handed, grown, zeroed, aligned; ///< percent
    unsigned generations;                       ///< of threads, one after the other
};

} // namespace cairn::bench
