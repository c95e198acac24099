// SPDX-License-Identifier: MIT
//
// Recent superblocks: for each class of medium blocks, the superblock in which the heap's thread has freed a block
// last. The next malloc of the class takes that block, whichever list the superblock is in: a superblock has so few
// medium blocks that its bin is empty every few calls, and the block's lines are more likely in the cache.
//
// Adds:    note, for a free; at, for a malloc; forget. hide, is_shown and is_hidden, for a visiting thread.
// Needs:   OwnerLine.
// Keeps:   each is a superblock of the heap, in a bin or a list, but not in that of superblocks without live blocks.
//          It may have no free block. One that is nearly empty is in none: it would not become empty.
// Threads: note and at: the heap's own thread, in a section (sync::Presence). The rest: that thread, or a visiting
//          thread.
// Cost:    note, at: a store, a load. hide, forget: a compare-exchange where the superblock is the recent one.
// Source:  docs/decisions/recent-superblocks.md.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/run/descriptor.hpp>

#include <algorithm>

namespace cairn {

template <unsigned SizeClasses>
class RecentSuperblocks {
public:
    static constexpr std::uint32_t least_live = 4; ///< with fewer live blocks a superblock is nearly empty

    constexpr RecentSuperblocks() { forget(); }

    /// The superblock of the class; nullptr when there is none. relaxed: its own thread has stored it, after it saw the
    /// superblock as its own.
    CAIRN_INLINE OwnerLine *at(unsigned c) const {
        const Word word = load(c);
        if (CAIRN_UNLIKELY((word & hidden_) != 0)) {
            return nullptr;
        }
        if (word == 0) {
            __builtin_unreachable(); // spares the caller's test one of two
        }
        return reinterpret_cast<OwnerLine *>(word);
    }

    /// The heap's thread has freed a block of the superblock. One that was counted to be nearly empty is not noted, as
    /// it is to become empty; but one that was counted to be empty is: its blocks are live because it is in its bin.
    CAIRN_INLINE void note(const OwnerLine *s) {
        store(s->size_class, s->accounted - 1 >= least_live - 1 ? address_of(s) : hidden_);
    }

    /// The superblock leaves the heap. Before another thread can get it.
    void forget(const OwnerLine *s) {
        change(s, address_of(s), hidden_);
        change(s, address_of(s) | hidden_, hidden_);
    }
    constexpr void forget() { std::fill_n(words_, SizeClasses, hidden_); }

    /// The visiting thread takes the superblock. Its heap's thread does not find it here any more, but may have found
    /// it before: is_hidden() tells, until the thread notes another one.
    void hide(const OwnerLine *s) { change(s, address_of(s), address_of(s) | hidden_); }
    bool is_shown(const OwnerLine *s) const { return load(s->size_class) == address_of(s); }
    bool is_hidden(const OwnerLine *s) const { return load(s->size_class) == (address_of(s) | hidden_); }

private:
    using Word = std::uintptr_t;
    static constexpr Word hidden_ = 1;

    // relaxed: Presence orders them. A visiting thread's heavy fence is between its hide() and its is_shown() and
    // is_hidden(), and the heap's thread notes and reads in sections.
    Word load(unsigned c) const { return std::atomic_ref(words_[c]).load(std::memory_order_relaxed); }
    void store(unsigned c, Word word) { std::atomic_ref(words_[c]).store(word, std::memory_order_relaxed); }

    /// Not by a store, which could take the place of a superblock that the heap's thread has just noted, and from which
    /// it is about to allocate: no visiting thread would see that.
    void change(const OwnerLine *s, Word from, Word to) {
        if (load(s->size_class) == from) {
            std::atomic_ref(words_[s->size_class])
                .compare_exchange_strong(from, to, std::memory_order_relaxed);
        }
    }

    mutable Word words_[SizeClasses]; ///< mutable for atomic_ref
};

} // namespace cairn
