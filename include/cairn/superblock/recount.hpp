// SPDX-License-Identifier: MIT
//
// Recount: makes a superblock's counts agree with its blocks, after its owner thread has vanished in the middle of
// any operation.
//
// Adds:    recount, for the child of a fork; count_list.
// Keeps:   a block that the vanished owner was handing out or taking back is counted as live: it may leak, but it is
//          never handed out twice. A list that is not sound is given up as a whole.
// Threads: a thread that has exclusive access to the superblock; other threads may free its blocks meanwhile.
// Cost:    a walk over the free blocks.
#pragma once

#include <cairn/superblock/remote_list.hpp>

namespace cairn::superblock {

/// Sets `count` to the length of the list of free blocks that begins with `head`. False if it is not such a list.
inline bool count_list(const OwnerLine *s, std::uintptr_t head, unsigned &count) {
    const std::uintptr_t memory = memory_of(s);
    const std::size_t span = span_of(s);
    for (count = 0; !is_end(head); ++count) {
        if (!same_superblock(head, memory, span) || count > s->carved ||
            !is_block_start(shared_of(s), head - blocks_of(s))) {
            return false;
        }
        head = word_of(head) ^ s->cookie;
    }
    return same_superblock(head, memory, span) && count <= s->carved;
}

/// Puts a sound list in front of the superblock's own.
inline void splice(OwnerLine *s, RemoteWord list) {
    const std::uintptr_t first = memory_of(s) + list.head_offset();
    std::uintptr_t last = first;
    while (!is_end(word_of(last) ^ s->cookie)) {
        last = word_of(last) ^ s->cookie;
    }
    word_of(last) = s->free ^ s->cookie;
    s->free = first;
    s->frees_until_check -= static_cast<std::int32_t>(list.count());
}

/// Sets the superblock's own list and its counts from its blocks. Puts a sound remote list into its own.
inline void recount(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    unsigned free_blocks = 0;
    if (s->carved != published(shared) || !count_list(s, s->free, free_blocks)) {
        s->free = end_mark(memory_of(s));
        free_blocks = 0;
    }
    s->frees_until_check = static_cast<std::int32_t>(s->carved - free_blocks);
    s->check_at = 0;
    // acquire: pairs with the release of free_remote, since the links are followed.
    const RemoteWord remote{remote_of(s)->word.exchange(0, std::memory_order_acquire)};
    unsigned remote_blocks = 0;
    if (!remote.empty() && count_list(s, memory_of(s) + remote.head_offset(), remote_blocks) &&
        remote_blocks == remote.count()) {
        splice(s, remote);
    }
    s->accounted = s->live();
}

} // namespace cairn::superblock
