// SPDX-License-Identifier: MIT
//
// Run lists: free runs of one kind by length, for best fit in constant time.
//
// Adds:    insert, remove, and the shortest run that holds a request, with an alignment.
// Needs:   the OwnerLine of a free run's first slot for links and length; that of its last slot for the length alone
//          (the boundary tag, by which the next run finds the start of this one).
// Keeps:   each list holds runs of exactly one length, the most recently freed one first.
// Threads: the caller holds the stripe's lock.
// Cost:    a bitmap search over 8 words; an aligned request may visit the runs of a few lengths.
// Source:  best fit with splitting over raw blocks (Wen and Deng, section 2.3); boundary tags (LKmalloc,
//          section 6, C).
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

class RunLists {
public:
    constexpr RunLists() = default;

    void insert(OwnerLine *first) {
        const unsigned n = first->slots;
        first[n - 1].slots = static_cast<std::uint16_t>(n);
        lists_[n].push_front(first);
        occupied_[n / 64] |= std::uint64_t{1} << n % 64;
        bytes_ += n * slot_size;
    }

    void remove(OwnerLine *first) {
        const unsigned n = first->slots;
        lists_[n].remove(first);
        if (lists_[n].empty()) {
            occupied_[n / 64] &= ~(std::uint64_t{1} << n % 64);
        }
        bytes_ -= n * slot_size;
    }

    /// The first slot of a piece of `slots` at a multiple of `alignment` slots, inside the shortest run that has such a
    /// piece; `whole` is set to that run. nullptr if no run has one.
    OwnerLine *best_fit(unsigned slots, unsigned alignment, OwnerLine *&whole) const {
        for (unsigned n = next_length(slots); n < lengths_; n = next_length(n + 1)) {
            for (OwnerLine *run = lists_[n].front(); run != nullptr; run = run->next) {
                const unsigned at = Segment::of(run)->slot_of(run);
                const auto start = static_cast<unsigned>(align_up(at, alignment));
                if (start + slots <= at + n) {
                    whole = run;
                    return run + (start - at);
                }
            }
        }
        return nullptr;
    }

    /// Calls f(run) for up to `count` of the longest runs, the longest first.
    template <class F>
    void for_longest(unsigned count, F &&f) const {
        for (unsigned word = words_; word-- > 0;) {
            for (std::uint64_t bits = occupied_[word]; bits != 0;) {
                const unsigned n = log2_floor(bits);
                bits ^= std::uint64_t{1} << n;
                for (OwnerLine *run = lists_[word * 64 + n].front(); run != nullptr; run = run->next) {
                    if (count-- == 0) {
                        return;
                    }
                    f(run);
                }
            }
        }
    }

    /// A run of the greatest length; nullptr if there is none.
    OwnerLine *longest() const {
        for (unsigned word = words_; word-- > 0;) {
            if (occupied_[word] != 0) {
                return lists_[word * 64 + log2_floor(occupied_[word])].front();
            }
        }
        return nullptr;
    }

    std::size_t bytes() const { return bytes_; }

private:
    static constexpr unsigned lengths_ = slots_per_segment;
    static constexpr unsigned words_ = lengths_ / 64;

    /// The smallest length >= n that has a run; `lengths_` when there is none.
    unsigned next_length(unsigned n) const {
        unsigned word = n / 64;
        if (word >= words_) {
            return lengths_;
        }
        std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << n % 64);
        while (bits == 0) {
            if (++word == words_) {
                return lengths_;
            }
            bits = occupied_[word];
        }
        return word * 64 + log2_exact(bits);
    }

    LineList lists_[lengths_];
    std::uint64_t occupied_[words_]{};
    std::size_t bytes_ = 0;
};

} // namespace cairn
