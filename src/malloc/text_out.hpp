// SPDX-License-Identifier: MIT
//
// Text out: builds text from words and numbers, for reports that have to work in any state of the program.
//
// Adds:    a fixed buffer, whose text is passed to a function when it is full and at the end.
// Errors:  that function has to record its own.
// Threads: one thread for each object.
// Cost:    nothing is allocated; no locale, no stdio.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn {

class TextOut {
public:
    using Take = void (*)(void *to, const char *text, std::size_t length) noexcept;

    TextOut(Take take, void *to) noexcept : take_(take), to_(to) {}
    TextOut(const TextOut &) = delete;
    TextOut &operator=(const TextOut &) = delete;
    ~TextOut() { flush(); }

    TextOut &operator<<(char c) noexcept {
        if (used_ == sizeof buffer_) {
            flush();
        }
        buffer_[used_++] = c;
        return *this;
    }

    TextOut &operator<<(const char *word) noexcept {
        while (*word != 0) {
            *this << *word++;
        }
        return *this;
    }

    TextOut &operator<<(std::uint64_t number) noexcept { return right(number, 1); }

    /// A number, right-aligned in `width` columns.
    TextOut &right(std::uint64_t number, unsigned width) noexcept {
        char digits[20];
        unsigned n = 0;
        do {
            digits[n++] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        for (unsigned i = n; i < width; ++i) {
            *this << ' ';
        }
        while (n > 0) {
            *this << digits[--n];
        }
        return *this;
    }

    void flush() noexcept {
        if (used_ != 0) {
            take_(to_, buffer_, used_);
            used_ = 0;
        }
    }

private:
    Take take_;
    void *to_;
    std::size_t used_ = 0;
    char buffer_[4096] = {};
};

} // namespace cairn
