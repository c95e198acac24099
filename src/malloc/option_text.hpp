// SPDX-License-Identifier: MIT
//
// Option text: the value of an option as a user writes it, and the form that a value may have.
//
// Threads: pure functions.
// Cost:    fixed buffers, nothing is allocated.
#pragma once

#include <src/malloc/options.hpp>

namespace cairn {

struct OptionUnit {
    const char *suffix;
    std::int64_t factor;
};
inline constexpr OptionUnit time_units[] = {{"", 1}, {"ms", 1}, {"s", 1000}};
inline constexpr OptionUnit size_units[] = {{"", 1},        {"K", 1 << 10}, {"k", 1 << 10}, {"M", 1 << 20},
                                            {"m", 1 << 20}, {"G", 1 << 30}, {"g", 1 << 30}};

class OptionText {
public:
    char characters[64] = {};

    void put(const char *word) {
        while (*word != 0 && length_ < sizeof characters - 1) {
            characters[length_++] = *word++;
        }
    }

    void put(std::int64_t number) {
        char digits[24] = {};
        std::size_t n = sizeof digits - 1;
        do {
            digits[--n] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        put(digits + n);
    }

private:
    std::size_t length_ = 0;
};

/// An amount in the largest unit that leaves a whole number.
template <std::size_t N>
OptionText amount_text(std::int64_t value, const OptionUnit (&units)[N]) noexcept {
    const OptionUnit *best = units;
    for (const OptionUnit &unit : units) {
        const bool larger = unit.factor > best->factor || best == units;
        if (larger && value % unit.factor == 0 && value >= unit.factor) {
            best = &unit;
        }
    }
    OptionText text;
    text.put(value / best->factor);
    text.put(best->suffix);
    return text;
}

/// 500ms, 2s, never, 64K, on, dense.
inline OptionText option_text(const Option &option, std::int64_t value) noexcept {
    OptionText text;
    if (option.kind == OptionKind::choice) {
        text.put(option.choices[value]);
    } else if (option.kind == OptionKind::boolean) {
        text.put(value != 0 ? "on" : "off");
    } else if (value < 0) {
        text.put("never");
    } else if (option.kind == OptionKind::time) {
        text = amount_text(value, time_units);
    } else {
        text = amount_text(value, size_units);
    }
    return text;
}

/// The form that a value may have, for messages.
inline OptionText option_form(const Option &option) noexcept {
    OptionText text;
    switch (option.kind) {
    case OptionKind::time:
        text.put(option.least < 0 ? "a time such as 500ms or 2s, or never" : "a time such as 500ms or 2s");
        break;
    case OptionKind::size:
        text.put("a size such as 4096, 64K, 16M or 1G");
        break;
    case OptionKind::boolean:
        text.put("on or off");
        break;
    case OptionKind::choice:
        for (std::int64_t i = 0; i <= option.most; ++i) {
            text.put(i == 0 ? "" : i == option.most ? " or " : ", ");
            text.put(option.choices[i]);
        }
        break;
    }
    return text;
}

} // namespace cairn
