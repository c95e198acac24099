// SPDX-License-Identifier: MIT
//
// Bins: for each size class the superblock that a thread heap takes blocks from.
//
// Adds:    an array that never holds a null pointer: an empty bin has a superblock whose list is empty for ever,
//          so that malloc's fast path asks one question.
// Needs:   OwnerLine.
// Threads: the heap's. A visitor may empty a bin while the heap's thread looks at it; what each of them may do with
//          the superblock it finds is settled by sync::Presence. acquire and release pair with each other: what the visitor
//          did with a superblock that it puts back is seen.
// Cost:    a load.
#pragma once

#include <cairn/superblock/account.hpp>

#include <algorithm>

namespace cairn {

template <unsigned SizeClasses>
class Bins {
public:
    constexpr Bins() { forget(); }

    CAIRN_INLINE OwnerLine *at(unsigned c) const {
        return std::atomic_ref(current_[c]).load(std::memory_order_acquire);
    }
    bool is_empty(unsigned c) const { return at(c) == &nothing_; }

    void fill(unsigned c, OwnerLine *s) {
        s->place = Place::current;
        set(c, s);
    }

    /// The bin is empty for who looks, its superblock still `current`; fill() puts it back.
    void hide(unsigned c) { set(c, &nothing_); }

    /// The superblock of a bin that is not empty, taken out.
    OwnerLine *take(unsigned c) {
        OwnerLine *const s = at(c);
        s->place = Place::nowhere;
        hide(c);
        return s;
    }

    /// How many free bytes the superblocks of bins have, each and all together.
    struct Slack {
        struct Bin {
            std::uint32_t free_bytes;
            unsigned size_class;
        };
        Bin bins[SizeClasses]; ///< those that are not empty
        unsigned count = 0;
        std::size_t free_bytes = 0;

        /// The class of the bin that has the most, which counts no more.
        unsigned take_widest() {
            Bin *const widest = std::max_element(
                bins, bins + count, [](const Bin &a, const Bin &b) { return a.free_bytes < b.free_bytes; });
            const Bin taken = *widest;
            *widest = bins[--count];
            free_bytes -= taken.free_bytes;
            return taken.size_class;
        }
    };
    Slack slack() const {
        Slack all;
        for (unsigned c = 0; c < SizeClasses; ++c) {
            if (!is_empty(c)) {
                const std::uint32_t free_bytes = superblock::free_bytes(at(c), superblock::live_now(at(c)));
                all.bins[all.count++] = {free_bytes, c};
                all.free_bytes += free_bytes;
            }
        }
        return all;
    }

    constexpr void forget() {
        for (OwnerLine *&s : current_) {
            s = &nothing_;
        }
    }

private:
    void set(unsigned c, OwnerLine *s) { std::atomic_ref(current_[c]).store(s, std::memory_order_release); }

    /// The superblock of an empty bin: one slot, and no block, for ever.
    struct Nothing : OwnerLine {
        constexpr Nothing() : OwnerLine{} {
            free = 1; // an end mark
            slots = 1;
        }
    };
    static inline constinit Nothing nothing_;

    mutable OwnerLine *current_[SizeClasses]; ///< mutable for atomic_ref
};

} // namespace cairn
