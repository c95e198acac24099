// SPDX-License-Identifier: MIT
//
// Overdraft: by how much a heap breaks the emptiness invariant, and what was made known of it.
//
// Adds:    whether threads that may visit the heap before memory grows are to know of it; take_calm_path, which skips
//          settling while the overdraft is where nothing is to be done.
// Needs:   the heap's inbox, and the list of wanted visits.
// Keeps:   a heap is put on the list again only when its overdraft has grown by the slack: what one visit had to
//          leave causes no second one. The calm interval never hides work that the owner causes; changes by other
//          threads go unnoticed for at most calm_paths_ slow paths.
// Threads: the heap's own, or its visiting thread.
// Cost:    two comparisons in slow paths.
#pragma once

#include <cairn/superblock/wanted_visits.hpp>

#include <algorithm>

namespace cairn {

class Overdraft {
public:
    constexpr Overdraft() = default;

    /// Whether an overdraft of `bytes` is in the calm interval. If so, counts the slow path, for a caller that then
    /// does nothing.
    bool take_calm_path(std::size_t bytes) {
        if (left_ == 0 || bytes - from_ > most_ - from_) { // modulo 2^64
            return false;
        }
        --left_;
        return true;
    }
    /// How many slow paths were calm since the last calm().
    unsigned calm_paths() const { return granted_ - left_; }

    /// Sets the calm interval, after note(): with an overdraft from `least` to `most` bytes the caller has nothing
    /// else to do.
    template <class Discipline>
    void calm(std::size_t least, std::size_t most, const Inbox &inbox) {
        from_ = std::max(least, known_);
        most_ = is_known(inbox) ? most : std::min(most, known_ + Discipline::slack);
        left_ = granted_ = from_ <= most_ ? calm_paths_ : 0;
    }

    /// Ends the calm interval.
    void disturb() { left_ = granted_ = 0; }

    /// The heap has an overdraft of `bytes`: puts it on the list of wanted visits where this is much more than was
    /// known.
    template <class Discipline>
    void note(std::size_t bytes, Inbox &inbox, WantedVisits &wanted) {
        disturb();
        known_ = std::min(known_, bytes);
        if (CAIRN_UNLIKELY(bytes > known_ + Discipline::slack) && !is_known(inbox)) {
            inbox.overdrawn.store(true, std::memory_order_relaxed); // relaxed: a hint
            wanted.add(inbox);
        }
    }

    /// After a visit: an overdraft of `bytes` had to stay.
    void visited(std::size_t bytes, Inbox &inbox) {
        known_ = bytes;
        disturb();
        inbox.overdrawn.store(false, std::memory_order_relaxed); // relaxed: a hint
    }

private:
    /// Whether the overdraft is known: the heap is on the list, or about to be. relaxed, both: `overdrawn` is stored
    /// before add(), and a thread that takes the inbox after that add() sees it.
    static bool is_known(const Inbox &inbox) {
        return inbox.overdrawn.load(std::memory_order_relaxed) &&
               inbox.wanted.load(std::memory_order_relaxed);
    }

    static constexpr unsigned calm_paths_ = 32;

    std::size_t known_ = 0; ///< bytes: the least overdraft since the last visit
    std::size_t from_ = 0;  ///< bytes, both: the calm interval
    std::size_t most_ = 0;
    unsigned granted_ = 0; ///< slow paths that calm() has granted
    unsigned left_ = 0;    ///< slow paths of these that are left
};

} // namespace cairn
