// SPDX-License-Identifier: MIT
//
// In place of platform/double_word.hpp under the model checker, which can not see into assembly: the same operations, as
// sequentially consistent ones on a location of 16 bytes.
#pragma once

#include <cstdint>

extern "C" {
void cairn_model_double_set(void *p, std::uint64_t low, std::uint64_t high);
std::uint64_t cairn_model_double_half(const void *p, unsigned half);
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
    std::uint64_t low() const { return cairn_model_double_half(this, 0); }
    std::uint64_t high() const { return cairn_model_double_half(this, 1); }

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
    alignas(16) std::uint64_t words_[2] = {0, 0};
};
static_assert(sizeof(AtomicDoubleWord) == 16 && alignof(AtomicDoubleWord) == 16);

} // namespace cairn::platform
