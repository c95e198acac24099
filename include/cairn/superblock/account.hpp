// SPDX-License-Identifier: MIT
//
// Account: the accounted bytes and the touched bytes of a heap (u and a in docs/bound.md), as of the last check of
// each of its superblocks.
//
// Adds:    join and leave, for a superblock that comes and goes; recount, carve and drop_uncarved, which change one;
//          held_by and free_bytes of one superblock.
// Keeps:   used() is the sum of the accounted blocks' bytes, held() the sum of superblock::held_by, over the
//          superblocks that have joined. A superblock whose blocks are all live adds the same to both sums. A
//          superblock of which less than f is free adds no more to held() than used() / (1 - f) allows.
// Threads: the heap's own thread, or a thread that has exclusive access to the heap.
// Cost:    a few instructions.
// Source:  Hoard, section 3 (u_i and a_i). Here they are brought up to date at check thresholds, not at each call.
#pragma once

#include <cairn/superblock/carving.hpp>
#include <cairn/superblock/remote_list.hpp>

namespace cairn {

namespace superblock {

/// Touched bytes of the superblock's blocks. The tail behind the last block does not count: no block can use it.
inline std::uint32_t held_by(const OwnerLine *s) {
    const std::uint32_t blocks = shared_of(s)->capacity * shared_of(s)->block_size;
    return s->touched < blocks ? s->touched : blocks;
}

/// Free bytes among the touched blocks of the superblock, if `live` of its blocks are live.
inline std::uint32_t free_bytes(const OwnerLine *s, std::uint32_t live) {
    return held_by(s) - live * shared_of(s)->block_size;
}

} // namespace superblock

template <class Classes, class Discipline>
class Account {
public:
    constexpr Account() = default;

    std::size_t used() const { return used_; } ///< bytes of the blocks that were live at the last checks
    std::size_t held() const { return held_; } ///< touched bytes of blocks: the sum of held_by

    /// The heap has a superblock more: counts its live blocks and sets when its first check is due.
    void join(OwnerLine *s) {
        Discipline::rearm(s);
        s->accounted = superblock::live_now(s);
        used_ += used_by(s);
        held_ += superblock::held_by(s);
    }

    /// Checks the superblock: counts its live blocks again, and sets when the next check is due.
    void recount(OwnerLine *s) {
        const std::uint32_t live = superblock::live_now(s);
        used_ += (std::size_t{live} - s->accounted) * shared_of(s)->block_size; // modulo 2^64
        s->accounted = live;
        Discipline::rearm(s);
    }

    /// Carves the next blocks of the superblock. Returns how many bytes that has touched for the first time.
    std::uint32_t carve(OwnerLine *s) {
        const std::uint32_t before = s->touched;
        held_ -= superblock::held_by(s);
        superblock::carve(s);
        held_ += superblock::held_by(s);
        return s->touched - before;
    }

    /// Purges the superblock's uncarved memory. Returns how many touched bytes went back to the operating system.
    std::uint32_t drop_uncarved(OwnerLine *s) {
        const std::uint32_t before = s->touched;
        held_ -= superblock::held_by(s);
        superblock::drop_uncarved(s);
        held_ += superblock::held_by(s);
        return before - s->touched;
    }

    /// A superblock has left the heap; `used` and `held` are what it added to the two sums.
    void leave(std::size_t used, std::size_t held) {
        used_ -= used;
        held_ -= held;
    }

    /// Bytes of the superblock's accounted blocks.
    static std::size_t used_by(const OwnerLine *s) {
        return std::size_t{s->accounted} * shared_of(s)->block_size;
    }

private:
    std::size_t used_ = 0;
    std::size_t held_ = 0;
};

} // namespace cairn
