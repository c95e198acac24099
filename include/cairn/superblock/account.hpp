// SPDX-License-Identifier: MIT
//
// Account: u and a of a heap, as of the last look at each of its superblocks.
//
// Adds:    joining, looking again, carving, leaving; held_by.
// Keeps:   u is the sum of `accounted` blocks, a the sum of superblock::held_by, of the superblocks that have joined. So one whose blocks
//          are all live has as much of both, and one that is less than f empty no more than u / (1 - f) allows.
// Threads: the heap's own thread, or who has the heap to itself.
// Cost:    a few instructions.
// Source:  Hoard, section 3 (u_i and a_i); brought up to date at borders instead of at each call.
#pragma once

#include <cairn/superblock/carving.hpp>
#include <cairn/superblock/remote_list.hpp>

namespace cairn {

namespace superblock {

/// Bytes that were touched, but for what lies behind the last block of the whole superblock: that is nobody's.
inline std::uint32_t held_by(const OwnerLine *s) {
    const std::uint32_t blocks = shared_of(s)->capacity * shared_of(s)->block_size;
    return s->touched < blocks ? s->touched : blocks;
}

/// Bytes of the touched blocks of a superblock that are free if `live` blocks are live.
inline std::uint32_t free_bytes(const OwnerLine *s, std::uint32_t live) {
    return held_by(s) - live * shared_of(s)->block_size;
}

} // namespace superblock

template <class Classes, class Discipline>
class Account {
public:
    constexpr Account() = default;

    std::size_t used() const { return used_; } ///< u: live bytes as last accounted
    std::size_t held() const { return held_; } ///< a: touched bytes of the blocks of the superblocks held

    /// A superblock is new here.
    void join(OwnerLine *s) {
        Discipline::rearm(s);
        s->accounted = superblock::live_now(s);
        used_ += used_by(s);
        held_ += superblock::held_by(s);
    }

    /// Brings u up to date for one superblock and sets when the next check is due.
    void recount(OwnerLine *s) {
        const std::uint32_t live = superblock::live_now(s);
        used_ += (std::size_t{live} - s->accounted) * shared_of(s)->block_size; // modulo 2^64
        s->accounted = live;
        Discipline::rearm(s);
    }

    /// Bytes that were touched.
    std::uint32_t carve(OwnerLine *s) {
        const std::uint32_t before = s->touched;
        held_ -= superblock::held_by(s);
        superblock::carve(s);
        held_ += superblock::held_by(s);
        return s->touched - before;
    }

    /// Bytes that went back.
    std::uint32_t drop_uncarved(OwnerLine *s) {
        const std::uint32_t before = s->touched;
        held_ -= superblock::held_by(s);
        superblock::drop_uncarved(s);
        held_ += superblock::held_by(s);
        return before - s->touched;
    }

    /// A superblock that had so much of each is here no more.
    void leave(std::size_t used, std::size_t held) {
        used_ -= used;
        held_ -= held;
    }

    static std::size_t used_by(const OwnerLine *s) {
        return std::size_t{s->accounted} * shared_of(s)->block_size;
    }

private:
    std::size_t used_ = 0;
    std::size_t held_ = 0;
};

} // namespace cairn
