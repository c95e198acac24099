// SPDX-License-Identifier: MIT
//
// Remote list: what others have freed of a superblock, as its owner sees it.
//
// Adds:    collect, which makes it the superblock's own list; how many blocks are live if it is counted.
// Needs:   RemoteWord.
// Keeps:   nobody follows the list before its blocks are handed out: each is in another processor's cache. A pop finds
//          out whether the next link is sound, so racing double frees, which make the list a ring or too short,
//          end the program before a block is handed out twice; the counts find out that more were freed than were live.
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

inline std::uint32_t live_without(const OwnerLine *s, RemoteWord list) {
    if (CAIRN_UNLIKELY(list.count() > s->live())) {
        report_too_many_frees(s);
    }
    return s->live() - list.count();
}

/// What others have freed, which is not in the superblock's own list. A hint: relaxed, whoever uses their memory collects first.
inline RemoteWord remote_frees(const OwnerLine *s) {
    return s->freed_by_others.load(std::memory_order_relaxed)
               ? RemoteWord{remote_of(s)->word.load(std::memory_order_relaxed)}
               : RemoteWord{};
}
inline bool has_remote_frees(const OwnerLine *s) {
    return !remote_frees(s).empty();
}

/// Blocks that are neither in the superblock's list nor in the remote one.
inline std::uint32_t live_now(const OwnerLine *s) {
    return live_without(s, remote_frees(s));
}

/// What was in the remote list, out of it: the owner, and `queued` where the superblock stays in its queue, are left. The next
/// notice is a step away. acq_rel: acquire pairs with the release of free_remote, so the links and the blocks' last use are
/// visible; release, so that who pushes on what is left sees the threshold.
inline RemoteWord take_remote(OwnerLine *s) {
    constexpr std::uint64_t keep = RemoteWord::owner_mask | RemoteWord::queued_bit;
    RemoteLine *const line = remote_of(s);
    line->notify.store(shared_of(s)->step, std::memory_order_relaxed);
    return {line->word.fetch_and(keep, std::memory_order_acq_rel)};
}

/// What others have freed becomes the superblock's own list, which is empty.
inline void collect(OwnerLine *s) {
    const RemoteWord list = take_remote(s);
    const std::uint32_t live = live_without(s, list);
    s->frees_until_check -= static_cast<std::int32_t>(s->live() - live);
    s->free = list.empty() ? s->free : memory_of(s) + list.head_offset();
}

} // namespace cairn::superblock
