// SPDX-License-Identifier: MIT
//
// Overdraft: free memory of a heap that the emptiness invariant does not hold for.
//
// Adds:    whether others should know, who may visit the heap before memory grows.
// Needs:   the heap's in-tray, and the list of wanted visits.
// Keeps:   a heap is put on the list again only when its overdraft has grown by the slack: what a visit had to leave
//          makes no second one.
// Threads: the heap's, or its visitor.
// Cost:    a compare on slow paths.
#pragma once

#include <cairn/superblock/wanted_visits.hpp>

#include <algorithm>

namespace cairn {

class Overdraft {
public:
    constexpr Overdraft() = default;

    template <class Discipline>
    void note(std::size_t bytes, PendingSuperblocks &tray, WantedVisits &wanted) {
        known_ = std::min(known_, bytes);
        if (CAIRN_UNLIKELY(bytes > known_ + Discipline::slack) && !is_known(tray)) {
            tray.overdrawn.store(true, std::memory_order_relaxed); // relaxed: a hint
            wanted.add(tray);
        }
    }

    /// After a visit: what there is now had to stay.
    void visited(std::size_t bytes, PendingSuperblocks &tray) {
        known_ = bytes;
        tray.overdrawn.store(false, std::memory_order_relaxed); // relaxed: a hint
    }

private:
    /// relaxed, both: `overdrawn` was stored before an add(), and nobody takes the tray after that one without seeing it.
    static bool is_known(const PendingSuperblocks &tray) {
        return tray.overdrawn.load(std::memory_order_relaxed) && tray.wanted.load(std::memory_order_relaxed);
    }

    std::size_t known_ = 0; ///< bytes
};

} // namespace cairn
