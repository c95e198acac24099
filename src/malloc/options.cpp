// SPDX-License-Identifier: MIT
//
// The parser of CAIRN_OPTIONS. It runs before main, and may not allocate: it copies text that it quotes into fixed
// buffers and writes a message with one system call.

#include <src/malloc/options.hpp>

#include <cairn/platform/fatal.hpp>
#include <src/malloc/environment.hpp>
#include <src/malloc/option_text.hpp>
#include <src/malloc/quoted.hpp>

namespace cairn {
namespace {

constinit Options in_force;

/// A piece of the text that is parsed; not terminated.
struct Piece {
    const char *characters;
    std::size_t length;

    bool equals(const char *word) const {
        for (std::size_t i = 0; i < length; ++i) {
            if (word[i] != characters[i]) { // also at the end of the word: no character of the piece is 0
                return false;
            }
        }
        return word[length] == 0;
    }

    Piece from(std::size_t start) const { return {characters + start, length - start}; }

    /// Up to the first `end`, or all of it.
    Piece up_to(char end) const {
        std::size_t n = 0;
        while (n < length && characters[n] != end) {
            ++n;
        }
        return {characters, n};
    }
};

constexpr OptionUnit boolean_words[] = {{"off", 0}, {"0", 0}, {"false", 0}, {"on", 1}, {"1", 1}, {"true", 1}};

/// The factor of a suffix, or -1.
template <std::size_t N>
std::int64_t factor_of(Piece suffix, const OptionUnit (&units)[N]) {
    for (const OptionUnit &unit : units) {
        if (suffix.equals(unit.suffix)) {
            return unit.factor;
        }
    }
    return -1;
}

template <std::size_t N>
bool parse_amount(Piece text, const OptionUnit (&units)[N], std::int64_t &value) {
    std::size_t digits = 0;
    std::int64_t number = 0;
    for (; digits < text.length && text.characters[digits] >= '0' && text.characters[digits] <= '9';
         ++digits) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.characters[digits] - '0', &number)) {
            return false;
        }
    }
    const std::int64_t factor = factor_of(text.from(digits), units);
    return digits > 0 && factor > 0 && !__builtin_mul_overflow(number, factor, &value);
}

bool parse_value(const Option &option, Piece text, std::int64_t &value) {
    switch (option.kind) {
    case OptionKind::time:
        if (text.equals("never") || text.equals("-1")) {
            value = -1;
            break;
        }
        if (!parse_amount(text, time_units, value)) {
            return false;
        }
        break;
    case OptionKind::size:
        if (!parse_amount(text, size_units, value)) {
            return false;
        }
        break;
    case OptionKind::boolean:
        value = factor_of(text, boolean_words);
        break;
    case OptionKind::choice:
        for (value = option.most; value >= 0 && !text.equals(option.choices[value]); --value) {
        }
        break;
    }
    return value >= option.least && value <= option.most;
}

void parse_one(Piece piece, Options &into) {
    const Piece name = piece.up_to(':');
    for (const Option &option : option_table) {
        if (!name.equals(option.name)) {
            continue;
        }
        std::int64_t value = 0;
        if (name.length == piece.length) {
            platform::write_line({"CAIRN_OPTIONS: option '", option.name, "' needs a value (ignored)"});
        } else if (const Piece text = piece.from(name.length + 1); parse_value(option, text, value)) {
            option.set(into, value);
        } else {
            platform::write_line({"CAIRN_OPTIONS: bad value '",
                                  Quoted(text.characters, text.length).characters, "' for '", option.name,
                                  "', which takes ", option_form(option).characters, " (ignored)"});
        }
        return;
    }
    platform::write_line(
        {"CAIRN_OPTIONS: unknown option '", Quoted(name.characters, name.length).characters, "' (ignored)"});
}

} // namespace

void parse_options(const char *text, Options &into) noexcept {
    Piece rest{text, __builtin_strlen(text)};
    while (rest.length > 0) {
        const Piece piece = rest.up_to(',');
        if (piece.length > 0) {
            parse_one(piece, into);
        }
        rest = rest.from(piece.length < rest.length ? piece.length + 1 : piece.length);
    }
}

Options &options_in_force() noexcept {
    return in_force;
}

void read_options() noexcept {
    if (const char *text = environment_value("CAIRN_OPTIONS")) {
        parse_options(text, in_force);
    }
}

} // namespace cairn
