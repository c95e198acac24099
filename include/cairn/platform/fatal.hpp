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

#include <atomic>
#include <csignal>
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

namespace detail {
/// Whether the calling thread is in a handler of SIGABRT: while one runs, the kernel blocks the signal.
inline bool in_abort_handler() noexcept {
    unsigned long blocked = 0; // the kernel's signal set
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&blocked), sizeof blocked);
    return (blocked >> (SIGABRT - 1) & 1) != 0;
}
} // namespace detail

/// A handler of SIGABRT that runs into the mistake again, because it allocates, would be called for ever: it gets the
/// default action, and its mistake no line.
[[noreturn]] CAIRN_COLD inline void fatal(std::initializer_list<Word> words) {
    static constinit std::atomic<long> last_thread{0};
    const long thread = raw_syscall(SYS_gettid);
    // relaxed: only what this thread has stored counts.
    if (last_thread.load(std::memory_order_relaxed) == thread && detail::in_abort_handler()) {
        std::signal(SIGABRT, SIG_DFL);
    } else {
        last_thread.store(thread, std::memory_order_relaxed);
        write_line(words);
    }
    std::abort();
}

} // namespace cairn::platform
