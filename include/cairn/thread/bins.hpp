// SPDX-License-Identifier: MIT
//
// Bins: for each size class, the superblock that a thread heap takes blocks from.
//
// Adds:    an array without null pointers: an empty bin holds a superblock whose list is always empty, so that
//          malloc's fast path needs one test only.
// Needs:   OwnerLine.
// Threads: the heap's own. A visiting thread may empty a bin while the heap's thread reads it; sync::Presence decides
//          which of them may use the superblock. The acquire and release accesses pair with each other: the heap's
//          thread sees what the visiting thread did with a superblock that it puts back.
// Cost:    a load.
#pragma once

#include <cairn/superblock/account.hpp>

#include <algorithm>

namespace cairn {

template <unsigned SizeClasses>
class Bins {
public:
    constexpr Bins() { forget(); }

    /// The superblock in the bin of class c; `nothing_` if the bin is empty.
    CAIRN_INLINE OwnerLine *at(unsigned c) const {
        return platform::load_address(current_[c], std::memory_order_acquire);
    }
    bool is_empty(unsigned c) const { return at(c) == &nothing_; }

    /// Puts a superblock into the bin.
    void fill(unsigned c, OwnerLine *s) {
        s->place = Place::current;
        set(c, s);
    }

    /// Empties the bin for threads that read it. Its superblock stays `current`; fill() puts it back.
    void hide(unsigned c) { set(c, &nothing_); }

    /// Takes the superblock out of a bin that is not empty.
    OwnerLine *take(unsigned c) {
        OwnerLine *const s = at(c);
        s->place = Place::nowhere;
        hide(c);
        return s;
    }

    /// The free bytes of the bins' superblocks, of each and of all together.
    struct Slack {
        struct Bin {
            std::uint32_t free_bytes;
            unsigned size_class;
        };
        Bin bins[SizeClasses]; ///< of the bins that are not empty
        unsigned count = 0;
        std::size_t free_bytes = 0;

        /// Removes the bin with the most free bytes from these figures. Returns its class.
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

    /// All bins are empty.
    constexpr void forget() {
        for (OwnerLine *&s : current_) {
            s = &nothing_;
        }
    }

private:
    void set(unsigned c, OwnerLine *s) { std::atomic_ref(current_[c]).store(s, std::memory_order_release); }

    /// The superblock of an empty bin: one slot without a block, never written.
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
