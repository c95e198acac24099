// SPDX-License-Identifier: MIT
//
// In place of platform/double_word.hpp under the model checker, which can not see into assembly: the same operations,
// as sequentially consistent ones on a location of 16 bytes. Lines that are the same there are the same operation
// (mutants.py).
#pragma once

#include <atomic>
#include <cstdint>

extern "C" {
void cairn_model_double_set(void *p, std::uint64_t low, std::uint64_t high);
std::uint64_t cairn_model_double_half(const void *half, int order);
bool cairn_model_double_exchange(void *p, std::uint64_t expected[2], std::uint64_t low, std::uint64_t high);
}

namespace cairn::platform {

struct DoubleWord {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend constexpr bool operator==(const DoubleWord &, const DoubleWord &) = default;
};

class AtomicDoubleWord {
public:
    constexpr AtomicDoubleWord() = default;

    void set_alone(DoubleWord value) { cairn_model_double_set(this, value.low, value.high); }
    std::uint64_t low() const { return low_.load(std::memory_order_seq_cst); }
    std::uint64_t high() const { return high_.load(std::memory_order_relaxed); }

    DoubleWord load() {
        DoubleWord seen{};
        compare_exchange(seen, seen);
        return seen;
    }
    bool compare_exchange(DoubleWord &expected, DoubleWord desired) {
        std::uint64_t words[2] = {expected.low, expected.high};
        const bool done = cairn_model_double_exchange(this, words, desired.low, desired.high);
        expected = {words[0], words[1]};
        return done;
    }

private:
    struct Half {
        std::uint64_t load(std::memory_order order) const {
            return cairn_model_double_half(this, static_cast<int>(order));
        }
        std::uint64_t bits = 0;
    };
    alignas(16) Half low_;
    Half high_;
};
static_assert(sizeof(AtomicDoubleWord) == 16 && alignof(AtomicDoubleWord) == 16);

} // namespace cairn::platform
