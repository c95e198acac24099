// SPDX-License-Identifier: MIT
//
// IbmFreelist: the free blocks of a row of equal blocks as a lock-free stack, linked through the blocks themselves.
//
// Adds:    pop and push of block numbers; how many are free, exactly.
// Needs:   a row of at most 65,535 blocks of at least 2 bytes, aligned to 2, that stays mapped: a thread that is about to
//          pop may look at the link of a block that the program has by now. If all are to be free at first, zeroed.
// Keeps:   one word has the first block, the count, and a version of 32 bits that each operation raises: a list that
//          changed in between is not taken for an unchanged one, unless exactly 2^32 operations were slept through.
//          A link says how far the next block is from the one behind this one; so zeroed blocks are linked in order,
//          and nothing is touched before it is popped. The last link is never followed: the count says where it ends.
// Threads: any; lock-free.
// Errors:  `none` from pop; a push that makes more blocks than there are stops a build with assertions.
// Cost:    a compare-exchange each way.
// Source:  NBmalloc, section 5 and Fig. 3: Get_Block, Put_Block; there the count is a word of its own, changed by a
//          fetch-and-add after the fact, and only an estimate.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <atomic>
#include <cstdint>

namespace cairn::sync {

class IbmFreelist {
public:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Popped {
        std::uint32_t block; ///< its number, or `none`
        std::uint32_t left;  ///< free blocks after it
    };

    /// Before other threads know the list: `count` zeroed blocks, free from number `first` on. relaxed: as above.
    void set_alone(std::uint32_t first, std::uint32_t count) {
        head_.store(Head{first, count, 0}.bits(), std::memory_order_relaxed);
    }

    /// Get_Block.
    Popped pop(const char *row, unsigned shift) {
        Head old{load()};
        while (old.count != 0) {
            const auto link = peek(row + (std::size_t{old.first} << shift));
            const auto next = static_cast<std::uint16_t>(old.first + 1u + link);
            if (change(old, Head{next, old.count - 1u, old.version + 1u})) {
                return {old.first, old.count - 1u};
            }
        }
        return {none, 0};
    }

    /// Put_Block. How many are free now, of `capacity`.
    std::uint32_t push(char *row, unsigned shift, std::uint32_t block, std::uint32_t capacity) {
        auto &link = *reinterpret_cast<std::uint16_t *>(row + (std::size_t{block} << shift));
        Head old{load()};
        do {
            if constexpr (platform::checked) {
                if (old.count >= capacity) {
                    platform::fatal({"more blocks were freed than there are: ", &link});
                }
            }
            // relaxed: the release in change() makes it visible to who pops the block. Atomic for them, who may look
            // at it when it is not theirs.
            std::atomic_ref(link).store(static_cast<std::uint16_t>(old.first - block - 1u),
                                        std::memory_order_relaxed);
        } while (!change(old, Head{block, old.count + 1u, old.version + 1u}));
        return old.count + 1u;
    }

    /// seq_cst: who has emptied or filled a place asks this after saying so; see docs/nbmalloc.md, "Full superblocks".
    std::uint32_t count() const { return Head{head_.load(std::memory_order_seq_cst)}.count; }

private:
    struct Head {
        std::uint32_t first, count, version;

        Head(std::uint32_t f, std::uint32_t n, std::uint32_t v) : first(f), count(n), version(v) {}
        explicit Head(std::uint64_t bits)
            : first(bits & 0xffff), count(bits >> 16 & 0xffff),
              version(static_cast<std::uint32_t>(bits >> 32)) {}
        std::uint64_t bits() const { return first | count << 16 | std::uint64_t{version} << 32; }
    };

    /// acquire: pairs with change() of who pushed the first block: its link is there.
    std::uint64_t load() const { return head_.load(std::memory_order_acquire); }

    /// seq_cst, which is more than the release that publishes link and contents to the next owner, and the acquire that
    /// receives them: a push must come before the look at where the superblock is that follows it.
    bool change(Head &old, Head desired) {
        std::uint64_t bits = old.bits();
        const bool done = head_.compare_exchange_weak(bits, desired.bits(), std::memory_order_seq_cst,
                                                      std::memory_order_acquire);
        old = done ? old : Head{bits};
        return done;
    }

    /// The block may be the program's by now, which writes to it as it likes. Then what is read here is thrown away,
    /// since the version has changed; ThreadSanitizer must not see the read.
    __attribute__((no_sanitize("thread"))) static std::uint16_t peek(const char *block) {
        return *reinterpret_cast<const volatile std::uint16_t *>(block);
    }

    std::atomic<std::uint64_t> head_{0};
};

} // namespace cairn::sync
