// SPDX-License-Identifier: MIT
//
// Quoted: text of a user for a message: shortened, and with a question mark for each character that is not printable
// ASCII.
//
// Threads: a value.
#pragma once

#include <cstddef>

namespace cairn {

template <std::size_t Room = 64>
struct Quoted {
    char characters[Room];

    Quoted(const char *text, std::size_t length) {
        const std::size_t n = length < Room - 1 ? length : Room - 1;
        for (std::size_t i = 0; i < n; ++i) {
            const char c = text[i];
            characters[i] = c >= ' ' && c <= '~' ? c : '?';
        }
        characters[n] = 0;
    }
};
Quoted(const char *, std::size_t) -> Quoted<64>;

} // namespace cairn
