// SPDX-License-Identifier: MIT
//
// Michael's superblock: its descriptor, and the anchor, the word by which its blocks are taken and put back.
//
// Adds:    MichaelAnchor, the paper's anchor; the descriptor.
// Needs:   segment_layout.hpp, which finds the descriptor of an address. Superblocks of 2 to 2^14 blocks.
// Keeps:   `first` leads to a list of all free blocks. `count` is how many of these nobody has a credit for; in an
//          empty superblock one less than there are. So a thread with a credit finds a block, and a superblock can not
//          become empty while there is a credit.
//          active   a processor's heap hands it out, or a thread is about to say so. Its credits are in the heap.
//          full     no free block that is not spoken for. It is nowhere: only its blocks lead to it.
//          partial  in the slot of a processor's heap, in its class's queue, or in the hands of one thread.
//          empty    the same, and all of its blocks are free; or among the retired ones, for any class.
//          Whoever makes a full one partial, or takes it from where it is, holds it: may write `heap` and `node`, and
//          has to put it somewhere.
//          Descriptors are never unmapped while the heap lives, so a stale reference may always be looked at.
// Threads: any.
// Source:  Michael (PLDI 2004), section 3: descriptor and anchor. There count and first have 10 bits each.
#pragma once

#include <cairn/family/segment_layout.hpp>
#include <cairn/platform/double_word.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/tagged_queue.hpp>

namespace cairn {

enum class MichaelState : std::uint8_t { active, full, partial, empty };

struct MichaelAnchor {
    std::uint32_t first = 0; ///< number of the first free block
    std::uint32_t count = 0;
    MichaelState state = MichaelState::active;
    std::uint32_t tag = 0; ///< rises with each block that is taken, against ABA; wraps after 2^32

    static constexpr unsigned count_bits = 14;

    constexpr std::uint64_t bits() const {
        return first | std::uint64_t{count} << 16 | static_cast<std::uint64_t>(state) << 30 |
               std::uint64_t{tag} << 32;
    }
    static constexpr MichaelAnchor of(std::uint64_t bits) {
        return {static_cast<std::uint32_t>(bits & 0xffff),
                static_cast<std::uint32_t>(bits >> 16) & ((1u << count_bits) - 1),
                static_cast<MichaelState>(bits >> 30 & 3), static_cast<std::uint32_t>(bits >> 32)};
    }
};

struct alignas(2 * platform::cache_line) MichaelSuperblock {
    std::atomic<std::uint64_t> anchor{0};

    alignas(platform::cache_line) std::atomic<std::uint32_t> class_bit{
        0};                             ///< log2 of the block size; 0: never used
    std::atomic<std::uint32_t> heap{0}; ///< the processor's heap that had it last
    std::atomic<std::uint64_t> node{0}; ///< which node it brings into a queue; 0: its own
    std::atomic<char *> next{nullptr};  ///< on the stack of retired ones
    sync::QueueNode own_node;           ///< in a queue, but not with this superblock as its value
    std::atomic<std::uint64_t> start{0}, length{0};

    /// What Segments keeps in the descriptor of the superblock that has the descriptors. relaxed: see there.
    void set_mapping(std::uint64_t where, std::uint64_t bytes) {
        start.store(where, std::memory_order_relaxed);
        length.store(bytes, std::memory_order_relaxed);
    }
    platform::DoubleWord mapping() const {
        return {start.load(std::memory_order_relaxed), length.load(std::memory_order_relaxed)};
    }

    /// acquire: pairs with the release of give(): links and contents.
    MichaelAnchor look() const { return MichaelAnchor::of(anchor.load(std::memory_order_acquire)); }

    bool is_empty() const { return look().state == MichaelState::empty; }

    /// Of a thread that takes blocks or credits, or gives credits back. False: `old` is what there is now.
    /// relaxed: what such a thread has to tell goes with the credits or the place that it has or makes; as an exchange
    /// it hands on the releases before it. acquire if it fails, as in look().
    bool take(MichaelAnchor &old, MichaelAnchor desired) {
        std::uint64_t bits = old.bits();
        const bool done = anchor.compare_exchange_weak(bits, desired.bits(), std::memory_order_relaxed,
                                                       std::memory_order_acquire);
        old = done ? old : MichaelAnchor::of(bits);
        return done;
    }

    /// The same of a thread that frees a block, or has held the superblock. release: pairs with look().
    bool give(MichaelAnchor &old, MichaelAnchor desired) {
        std::uint64_t bits = old.bits();
        const bool done = anchor.compare_exchange_weak(bits, desired.bits(), std::memory_order_release,
                                                       std::memory_order_acquire);
        old = done ? old : MichaelAnchor::of(bits);
        return done;
    }
};

} // namespace cairn
