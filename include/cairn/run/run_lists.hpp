// SPDX-License-Identifier: MIT
//
// Run lists: free runs of one kind by length, for best fit in constant time.
//
// Adds:    insert, remove, and the shortest run that holds a request, with an alignment.
// Needs:   the OwnerLine of a free run's first slot for links and length; that of its last slot for the length alone
//          (the boundary tag, by which the next run finds the start of this one).
// Keeps:   each list holds runs of exactly one length, the most recently freed one first. A length has two lists: of
//          runs that hold the greatest power of two of slots that fits the length, aligned to itself, and of the
//          others. So of one list either every run serves a superblock of several slots, or none.
// Threads: the caller holds the stripe's lock.
// Cost:    a bitmap search over 8 words; an aligned request looks at one run of each list, or at 32 of each where its
//          length is not its alignment.
// Source:  best fit with splitting over raw blocks (Wen and Deng, section 2.3); boundary tags (LKmalloc,
//          section 6, C).
#pragma once

#include <cairn/run/segment.hpp>

#include <bit>

namespace cairn {

class RunLists {
public:
    constexpr RunLists() = default;

    void insert(OwnerLine *first) {
        const unsigned n = first->slots;
        first[n - 1].slots = static_cast<std::uint16_t>(n);
        const Set set = set_of(first);
        lists_[n][set].push_front(first);
        occupied_[set][n / 64] |= std::uint64_t{1} << n % 64;
        bytes_ += n * slot_size;
    }

    void remove(OwnerLine *first) {
        const unsigned n = first->slots;
        const Set set = set_of(first);
        lists_[n][set].remove(first);
        if (lists_[n][set].empty()) {
            occupied_[set][n / 64] &= ~(std::uint64_t{1} << n % 64);
        }
        bytes_ -= n * slot_size;
    }

    /// The first slot of a piece of `slots` at a multiple of `alignment` slots, inside the shortest run that has such a
    /// piece; `whole` is set to that run. nullptr if no run has one; a run behind the first 32 of a list may have one
    /// where 1 < `alignment` != `slots`.
    OwnerLine *best_fit(unsigned slots, unsigned alignment, OwnerLine *&whole) const {
        const unsigned most = slots == alignment ? 1 : longest_look_;
        for (unsigned n = next_length(slots); n < lengths_; n = next_length(n + 1)) {
            for (const LineList &list : lists_[n]) { // aligned runs are kept for those who need them
                OwnerLine *run = list.front();
                for (unsigned left = most; run != nullptr && left != 0; run = run->next, --left) {
                    if (OwnerLine *const piece = piece_of(run, slots, alignment)) {
                        whole = run;
                        return piece;
                    }
                }
            }
        }
        return nullptr;
    }

    /// Calls f(run) for up to `count` of the longest runs, the longest first.
    template <class F>
    void for_longest(unsigned count, F &&f) const {
        for (unsigned word = words_; word-- > 0;) {
            for (std::uint64_t bits = occupied(word); bits != 0;) {
                const unsigned n = log2_floor(bits);
                bits ^= std::uint64_t{1} << n;
                for (const LineList &list : lists_[word * 64 + n]) {
                    for (OwnerLine *run = list.front(); run != nullptr; run = run->next) {
                        if (count-- == 0) {
                            return;
                        }
                        f(run);
                    }
                }
            }
        }
    }

    /// A run of the greatest length; nullptr if there is none.
    OwnerLine *longest() const {
        OwnerLine *found = nullptr;
        for_longest(1, [&](OwnerLine *run) { found = run; });
        return found;
    }

    std::size_t bytes() const { return bytes_; }

private:
    static constexpr unsigned lengths_ = slots_per_segment;
    static constexpr unsigned words_ = lengths_ / 64;
    static constexpr unsigned longest_look_ = 32; ///< runs of a list; the search is under the stripe's lock

    enum Set : unsigned char { others, aligned, sets };

    static Set set_of(const OwnerLine *run) {
        const unsigned piece = std::bit_floor(unsigned{run->slots});
        return piece_of(run, piece, piece) != nullptr ? aligned : others;
    }

    /// The first slot of a piece of the run; nullptr if it holds none.
    template <class Line>
    static Line *piece_of(Line *run, unsigned slots, unsigned alignment) {
        const unsigned at = Segment::of(run)->slot_of(run);
        const auto start = static_cast<unsigned>(align_up(at, alignment));
        return start + slots <= at + run->slots ? run + (start - at) : nullptr;
    }

    std::uint64_t occupied(unsigned word) const { return occupied_[others][word] | occupied_[aligned][word]; }

    /// The smallest length >= n that has a run; `lengths_` when there is none.
    unsigned next_length(unsigned n) const {
        unsigned word = n / 64;
        if (word >= words_) {
            return lengths_;
        }
        std::uint64_t bits = occupied(word) & (~std::uint64_t{0} << n % 64);
        while (bits == 0) {
            if (++word == words_) {
                return lengths_;
            }
            bits = occupied(word);
        }
        return word * 64 + log2_exact(bits);
    }

    // In this order, and with the two lists of a length side by side, runs of up to 14 MiB write to one page.
    std::size_t bytes_ = 0;
    std::uint64_t occupied_[sets][words_]{}; ///< a bit for each list that is not empty
    LineList lists_[lengths_][sets];
};

} // namespace cairn
