// SPDX-License-Identifier: MIT
//
// Quarantine: the blocks that were freed last, not to be used again yet.
//
// Keeps:   at most Held of them; the oldest goes first.
// Threads: one at a time.
// Cost:    a word a block.
#pragma once

#include <cstddef>
#include <utility>

namespace cairn::debug {

template <std::size_t Held>
    requires(Held > 0)
class Quarantine {
public:
    /// The block that has to go for it, or nullptr.
    void *hold(void *p) {
        void *const oldest = std::exchange(held_[turn_], p);
        turn_ = (turn_ + 1) % Held;
        return oldest;
    }

    /// let_go(p) of all, for who is out of memory. Whether there was any.
    template <class F>
    bool let_all_go(F let_go) {
        bool any = false;
        for (std::size_t i = 0; i < Held; ++i) {
            if (void *const p = hold(nullptr)) {
                let_go(p);
                any = true;
            }
        }
        return any;
    }

private:
    void *held_[Held] = {};
    std::size_t turn_ = 0; ///< where the oldest is
};

} // namespace cairn::debug
