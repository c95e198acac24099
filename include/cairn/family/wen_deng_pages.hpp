// SPDX-License-Identifier: MIT
//
// Pages from the program break, S bytes each, laid so that a header of 8 bytes comes before a page's first byte.
//
// Adds:    malloc(n), n a multiple of S: n bytes from 8 before a multiple of S on; the address of the multiple.
// Needs:   a source whose blocks follow each other, as those of sbrk do; it may start anew anywhere at any time (others
//          move the break, too), and its destructor gives everything back.
// Keeps:   what is asked of the source is what is needed, while it goes on where it ended; where it starts anew, up
//          to a page is lost.
// Threads: one at a time.
// Errors:  nullptr when the source has nothing; then what was asked for first may be lost until the source ends.
// Cost:    a call of the source.
// Source:  Wen and Deng, sections 1 (a break at a page's border is assumed) and 2.3 (only multiples of the page).
#pragma once

#include <cairn/core/concepts.hpp>

namespace cairn::wen_deng {

template <Heap Source, std::size_t S>
class Pages {
public:
    void *malloc(std::size_t bytes) {
        void *start = source_.malloc(bytes);
        if (start == nullptr) {
            return nullptr;
        }
        if (start != end_) {
            start = start_anew(start, bytes);
            if (start == nullptr) {
                return nullptr;
            }
        } else {
            end_ += bytes;
        }
        taken_ += bytes;
        return start;
    }

    /// Bytes handed out.
    std::size_t taken() const { return taken_; }

private:
    /// `start` is where the source goes on now; what is missing to the border of a page is asked for, too.
    void *start_anew(void *start, std::size_t bytes) {
        const std::size_t missing = align_up(address_of(start) + 1, S) - address_of(start);
        char *const behind = static_cast<char *>(start) + bytes;
        void *const rest = source_.malloc(missing);
        if (rest == behind) {
            end_ = behind + missing;
            return static_cast<char *>(start) + missing;
        }
        if (rest != nullptr) {
            source_.free(rest);
        }
        source_.free(start);
        char *const whole = static_cast<char *>(source_.malloc(bytes + S));
        end_ = nullptr;
        return whole == nullptr ? nullptr : whole + (align_up(address_of(whole) + 1, S) - address_of(whole));
    }

    static_assert(alignment_of<Source> >= quantum,
                  "a header must fit between what the source gives and a page");

    Source source_;
    char *end_ = nullptr; ///< a multiple of S, where the source goes on
    std::size_t taken_ = 0;
};

} // namespace cairn::wen_deng
