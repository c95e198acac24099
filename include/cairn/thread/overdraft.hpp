// SPDX-License-Identifier: MIT
//
// Overdraft: free memory of a heap that the emptiness invariant does not hold for.
//
// Adds:    whether others should know, who may visit the heap before memory grows; take_calm_path, while it is so that nobody has
//          anything to do.
// Needs:   the heap's inbox, and the list of wanted visits.
// Keeps:   a heap is put on the list again only when its overdraft has grown by the slack: what a visit had to leave
//          makes no second one. Who would have something to do is not kept from it, but for what others change meanwhile, for so
//          many slow paths at most.
// Threads: the heap's, or its visitor.
// Cost:    two compares on slow paths.
#pragma once

#include <cairn/superblock/wanted_visits.hpp>

#include <algorithm>

namespace cairn {

class Overdraft {
public:
    constexpr Overdraft() = default;

    /// Whether so much, in bytes, is as calm() said; counts the slow path. For who does nothing then.
    bool take_calm_path(std::size_t bytes) {
        if (left_ == 0 || bytes - from_ > most_ - from_) { // modulo 2^64
            return false;
        }
        --left_;
        return true;
    }
    /// How many slow paths were calm since the last calm().
    unsigned calm_paths() const { return granted_ - left_; }

    /// note() was called: from `least` to `most` bytes there is nothing else to do, and what lies in between is calm for a time.
    template <class Discipline>
    void calm(std::size_t least, std::size_t most, const Inbox &inbox) {
        from_ = std::max(least, known_);
        most_ = is_known(inbox) ? most : std::min(most, known_ + Discipline::slack);
        left_ = granted_ = from_ <= most_ ? calm_paths_ : 0;
    }

    /// What calm() was told holds no more.
    void disturb() { left_ = granted_ = 0; }

    template <class Discipline>
    void note(std::size_t bytes, Inbox &inbox, WantedVisits &wanted) {
        disturb();
        known_ = std::min(known_, bytes);
        if (CAIRN_UNLIKELY(bytes > known_ + Discipline::slack) && !is_known(inbox)) {
            inbox.overdrawn.store(true, std::memory_order_relaxed); // relaxed: a hint
            wanted.add(inbox);
        }
    }

    /// After a visit: what there is now had to stay.
    void visited(std::size_t bytes, Inbox &inbox) {
        known_ = bytes;
        disturb();
        inbox.overdrawn.store(false, std::memory_order_relaxed); // relaxed: a hint
    }

private:
    /// relaxed, both: `overdrawn` was stored before an add(), and nobody takes the inbox after that one without seeing it.
    static bool is_known(const Inbox &inbox) {
        return inbox.overdrawn.load(std::memory_order_relaxed) &&
               inbox.wanted.load(std::memory_order_relaxed);
    }

    static constexpr unsigned calm_paths_ = 32;

    std::size_t known_ = 0; ///< bytes
    std::size_t from_ = 0;  ///< bytes, both: between them there is nothing to do ...
    std::size_t most_ = 0;
    unsigned granted_ = 0; ///< ... for so many slow paths
    unsigned left_ = 0;    ///< of these
};

} // namespace cairn
