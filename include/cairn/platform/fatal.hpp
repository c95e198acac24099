// SPDX-License-Identifier: MIT
//
// Fatal: writes one line to stderr, then ends the process with SIGABRT. For misuse that the heap cannot survive.
//
// Threads: any; the line is written with one system call. If stderr is a pipe that no process reads, the process still
//          ends with SIGABRT and not with SIGPIPE. For a full pipe see write_all.
// Cost:    never returns. Allocates nothing.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/quiet_writes.hpp>
#include <cairn/platform/write_all.hpp>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace cairn::platform {

/// A piece of a message: text, an address, or a number.
struct Word {
    enum class Kind { text, address, number } kind;
    const char *characters = nullptr;
    std::uint64_t value = 0;

    constexpr Word(const char *s) : kind(Kind::text), characters(s) {}
    Word(const void *p) : kind(Kind::address), value(reinterpret_cast<std::uintptr_t>(p)) {}
    constexpr Word(std::uint64_t n) : kind(Kind::number), value(n) {}
};

/// Writes "cairn: " and the words as one line. Cut at 256 characters.
CAIRN_COLD inline void write_line(std::initializer_list<Word> words) {
    char line[256];
    std::size_t length = 0;
    const auto put = [&](char c) {
        if (length < sizeof line - 1) {
            line[length++] = c;
        }
    };
    const auto put_text = [&](const char *s) {
        while (*s != 0) {
            put(*s++);
        }
    };
    put_text("cairn: ");
    for (const Word &word : words) {
        if (word.kind == Word::Kind::text) {
            put_text(word.characters);
            continue;
        }
        const unsigned base = word.kind == Word::Kind::address ? 16 : 10;
        char digits[24];
        std::size_t n = 0;
        std::uint64_t rest = word.value;
        do {
            digits[n++] = "0123456789abcdef"[rest % base];
            rest /= base;
        } while (rest != 0);
        if (base == 16) {
            put_text("0x");
        }
        while (n > 0) {
            put(digits[--n]);
        }
    }
    line[length++] = '\n';
    const QuietWrites quiet;
    write_all(2, line, length);
}

[[noreturn]] CAIRN_COLD inline void fatal(std::initializer_list<Word> words) {
    write_line(words);
    std::abort();
}

} // namespace cairn::platform
