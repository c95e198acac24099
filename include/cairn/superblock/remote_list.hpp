// SPDX-License-Identifier: MIT
//
// Remote list: the blocks that other threads have freed in a superblock, for its owner.
//
// Adds:    collect, which makes the remote list the superblock's own list; the number of live blocks.
// Needs:   RemoteWord.
// Keeps:   the list is not followed before its blocks are handed out, since each block is in another processor's
//          cache. Racing double frees may make the list a ring, or too short. pop() checks each link, so the program
//          ends before a block is handed out twice; live_without() checks that no more blocks were freed than were
//          live.
// Threads: the superblock's owner.
// Errors:  ends the program when more blocks were freed than were live.
// Cost:    collect: one atomic exchange, whatever the length.
// Source:  docs/decisions/remote-free-lists.md.
#pragma once

#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

[[noreturn]] CAIRN_COLD inline void report_too_many_frees(const OwnerLine *s) {
    platform::fatal({"double free: more blocks of the superblock at ",
                     reinterpret_cast<const void *>(memory_of(s)), " (size class ",
                     std::uint64_t{shared_of(s)->block_size}, ") were freed than were live"});
}

/// The live blocks of the superblock if those in `list` are free. Ends the program if the list has more.
inline std::uint32_t live_without(const OwnerLine *s, RemoteWord list) {
    if (CAIRN_UNLIKELY(list.count() > s->live())) {
        report_too_many_frees(s);
    }
    return s->live() - list.count();
}

/// The remote list, whose blocks are not in the superblock's own list. relaxed: a hint; a thread that uses the
/// blocks' memory collects them first.
inline RemoteWord remote_frees(const OwnerLine *s) {
    return s->freed_by_others.load(std::memory_order_relaxed)
               ? RemoteWord{remote_of(s)->word.load(std::memory_order_relaxed)}
               : RemoteWord{};
}
inline bool has_remote_frees(const OwnerLine *s) {
    return !remote_frees(s).empty();
}

/// How many blocks are neither in the superblock's own list nor in the remote list.
inline std::uint32_t live_now(const OwnerLine *s) {
    return live_without(s, remote_frees(s));
}

/// Takes the remote list out of the remote word, and sets the next notice a step away. The owner stays, and the
/// queued bit where the superblock is in an inbox. acquire: pairs with the release of free_remote: the links and the
/// last use of the blocks are visible. release: a thread that pushes onto the empty list sees the threshold.
inline RemoteWord take_remote(OwnerLine *s) {
    constexpr std::uint64_t keep = RemoteWord::owner_mask | RemoteWord::queued_bit;
    RemoteLine *const line = remote_of(s);
    line->notify.store(shared_of(s)->step, std::memory_order_relaxed);
    return {line->word.fetch_and(keep, std::memory_order_acq_rel)};
}

/// Makes the remote list the superblock's own list, which is empty.
inline void collect(OwnerLine *s) {
    const RemoteWord list = take_remote(s);
    const std::uint32_t live = live_without(s, list);
    s->frees_until_check -= static_cast<std::int32_t>(s->live() - live);
    s->free = list.empty() ? s->free : memory_of(s) + list.head_offset();
}

} // namespace cairn::superblock
