// SPDX-License-Identifier: MIT
//
// Bins: for each size class the superblock that a thread heap takes blocks from.
//
// Adds:    an array that never holds a null pointer: an empty bin has a superblock whose list is empty for ever,
//          so that malloc's fast path asks one question.
// Needs:   OwnerLine.
// Threads: the heap's.
// Cost:    a load.
#pragma once

#include <cairn/superblock/superblock.hpp>

namespace cairn {

template <unsigned SizeClasses>
class Bins {
public:
    constexpr Bins() { forget(); }

    CAIRN_INLINE OwnerLine *at(unsigned c) const { return current_[c]; }
    bool is_empty(unsigned c) const { return current_[c] == &nothing_; }

    void fill(unsigned c, OwnerLine *s) {
        s->place = Place::current;
        current_[c] = s;
    }

    /// The superblock of a bin that is not empty, taken out.
    OwnerLine *take(unsigned c) {
        OwnerLine *const s = current_[c];
        current_[c] = &nothing_;
        return s;
    }

    constexpr void forget() {
        for (OwnerLine *&s : current_) {
            s = &nothing_;
        }
    }

private:
    static inline constinit OwnerLine nothing_{
        1, 0, 0, 0, 0, 0, nullptr, nullptr, 0, 1, 0, 0, Place::nowhere, false, 0};

    OwnerLine *current_[SizeClasses];
};

} // namespace cairn
