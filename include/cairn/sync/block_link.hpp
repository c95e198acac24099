// SPDX-License-Identifier: MIT
//
// Block link: how a free block names the next free one, in a row of equally long blocks.
//
// Adds:    next, set: the number of the next free block, from and to the block's first two bytes.
// Needs:   blocks of at least 2 bytes, aligned to 2, at most 65,535 of them, in memory that stays mapped.
// Keeps:   a link is the distance from block n+1 to the next free block: so zeroed blocks are linked in order of
//          address, and no block is touched before it is popped.
// Threads: any. next() may look at a block that another thread has popped and the program already uses: the caller
//          discards the number if the list has changed.
// Cost:    a load or a store.
// Source:  NBmalloc, section 5: the IBM free-list is linked through the blocks; distances are ours.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn::sync {

struct BlockLink {
    /// Which block comes after block number n, which is at `block`. ThreadSanitizer must not see the read.
    static std::uint32_t next(const char *block, std::uint32_t n) {
        return static_cast<std::uint16_t>(n + 1u + peek(block));
    }

    /// relaxed: the release of the caller's exchange makes the link visible to the thread that pops the block. Atomic,
    /// because other threads in next() may read it at the same time.
    static void set(char *block, std::uint32_t n, std::uint32_t next) {
        std::atomic_ref(*reinterpret_cast<std::uint16_t *>(block))
            .store(static_cast<std::uint16_t>(next - n - 1u), std::memory_order_relaxed);
    }

private:
    __attribute__((no_sanitize("thread"))) static std::uint16_t peek(const char *block) {
        return *reinterpret_cast<const volatile std::uint16_t *>(block);
    }
};

} // namespace cairn::sync
