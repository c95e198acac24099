// SPDX-License-Identifier: MIT
//
// Descriptors: what is known about a slot (64 KiB of address space), away from the blocks, in three cache lines of
// three arrays. The fields that the owner writes, those that other threads write, and those that all threads read are
// on different line pairs, since processors fetch two lines at a time.
//
// Adds:    OwnerLine (used by the owner of a superblock), SharedLine (read by every free) and RemoteLine (written by
//          remote frees). The first two also describe free and large runs, in the run's first slot.
// Needs:   zeroed memory.
// Keeps:   SharedLine::owner is not null only while the slot belongs to a superblock in a heap.
// Threads: see each field.
// Source:  Wen and Deng, section 3.2.2: metadata kept together and apart from the blocks; otherwise each remote free
//          misses on a line of its own.
#pragma once

#include <cairn/platform/features.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn {

/// The list or bin that a superblock is in.
enum class Place : std::uint8_t {
    nowhere, ///< in none, on its way between two heaps
    current, ///< in the bin of its class
    partial, ///< in a fullness group
    full,    ///< in the list of superblocks without free blocks
    empty,   ///< in the list of superblocks without live blocks, which may be formatted for any class
    orphan,  ///< in the list of a fork child of superblocks that were not recounted (superblock/orphans.hpp)
};

/// What the owner of a superblock changes: the thread of the heap that has the superblock, or a thread that holds the
/// lock of that heap. Other threads store freed_by_others alone. Free and large runs use slots, next and previous.
struct alignas(platform::line_pair) OwnerLine {
    /// The first free block; odd where the list is empty (superblock::is_end).
    std::uintptr_t free;
    /// The secret with which the superblock's links are encoded.
    std::uint64_t cookie;
    /// A free that brings it to 0 makes the owner check the superblock.
    std::int32_t frees_until_check;
    /// The number of live blocks at that free.
    std::int32_t check_at;
    /// The live blocks that the account of the heap knows of.
    std::uint32_t accounted;
    /// Blocks carved so far.
    std::uint32_t carved;
    /// Neighbours in the list that `place` names.
    OwnerLine *next;
    OwnerLine *previous;
    /// Bytes from the start that were touched. superblock::held_by: how many of them count for the heap.
    std::uint32_t touched;
    /// Length of the run; also of a free or large run.
    std::uint16_t slots;
    std::uint8_t size_class;
    /// The fullness group, while `place` is partial.
    std::uint8_t group;
    Place place;
    /// Other threads have freed blocks of the superblock (superblock::note_freed_by_others). relaxed: a hint.
    std::atomic<bool> freed_by_others;
    /// The number of the heap that gave the superblock to the global heap.
    std::uint16_t last_heap;
    /// From a freed block to the address that its free prefetches, in bytes (superblock::watch_free_order).
    std::int32_t prefetch_offset;

    /// `carved` at the last visit (superblock::take_carved_flag).
    std::uint32_t carved_at_visit;
    /// Of a large run: the kernel may use huge pages there (HugeOffers).
    bool offered;

    /// Blocks that are not in the superblock's own list.
    std::uint32_t live() const { return static_cast<std::uint32_t>(check_at + frees_until_check); }
};
static_assert(sizeof(OwnerLine) == platform::line_pair);
// What malloc and free use is one cache line.
static_assert(offsetof(OwnerLine, carved_at_visit) == platform::cache_line);

/// A list of superblocks or of runs, linked by the lines of their first slots; last in, first out.
class LineList {
public:
    OwnerLine *front() const { return head_; }
    bool empty() const { return head_ == nullptr; }

    void push_front(OwnerLine *s) {
        s->previous = nullptr;
        s->next = head_;
        if (head_ != nullptr) {
            head_->previous = s;
        }
        head_ = s;
    }

    void remove(OwnerLine *s) {
        (s->previous != nullptr ? s->previous->next : head_) = s->next;
        if (s->next != nullptr) {
            s->next->previous = s->previous;
        }
    }

private:
    OwnerLine *head_ = nullptr;
};

/// What every free reads. Written when a superblock gets another owner, and when blocks are carved. In the second half
/// of its line pair: the arrays lie a multiple of 4 KiB apart. In the first half it would share a set of the first
/// cache with the OwnerLine of its slot, and all descriptors together would use only half of the sets.
struct alignas(platform::line_pair) SharedLine {
    std::byte unused[platform::cache_line];

    // What a free reads: equal in the lines of all slots of a superblock, but for slots_before and starts_below.

    /// The ThreadHeap that owns the superblock, encoded (superblock/notices.hpp). Only a heap's own thread may conclude
    /// that it is the owner, in a section (sync::Presence).
    std::atomic<void *> owner;
    /// The least number above 2^64 / block size.
    std::uint64_t reciprocal;
    /// The cookie xor the superblock's address: decodes a link to an offset.
    std::uint64_t key;
    /// The address of the superblock's first block, or of a large block.
    std::uintptr_t first_block;
    /// Tells which addresses are starts of carved blocks (superblock::is_block_start), for those that begin in this
    /// slot. Of a large run: Segment::LargeBlock. relaxed: the store is in the history of a pointer to the block.
    std::atomic<std::uint64_t> starts_below;
    /// How many slots of the superblock lie before this one. relaxed: in the history of a pointer to a live block; for
    /// any other pointer it may be a remnant of an earlier superblock.
    std::atomic<std::uint8_t> slots_before;

    // What other calls read: in the line of the first slot.

    /// Bytes of a block; of a large run: the block's usable bytes.
    std::uint32_t block_size;
    /// Blocks of the whole superblock.
    std::uint16_t capacity;
    std::uint8_t size_class;
    /// A superblock's OwnerLine::slots, for remote frees, which do not read that line.
    std::uint8_t slots;
    /// Remote frees from one notice to the next.
    std::uint16_t step;
    /// Blocks from the start that are live or have a signature: more than `carved` after carving began again.
    std::uint16_t marked;
    /// How many blocks another thread may gather to give them back by one operation (Gathering); 0: none.
    std::uint8_t gather;
    /// Whether the OwnerLine's is set. relaxed: a hint.
    std::atomic<bool> freed_by_others;
};
static_assert(sizeof(SharedLine) == platform::line_pair);
static_assert(offsetof(SharedLine, owner) == platform::cache_line);

/// What remote frees write, and the threads that take or count their blocks: apart from what every free reads.
struct alignas(platform::line_pair) RemoteLine {
    /// Remotely freed blocks, and the superblock's owner (RemoteWord).
    std::atomic<std::uint64_t> word;
    /// The next superblock in the same inbox.
    std::atomic<OwnerLine *> pending_next;
    /// The number of remotely freed blocks at which the owner gets a notice.
    std::atomic<std::uint16_t> notify;
};
static_assert(sizeof(RemoteLine) == platform::line_pair);

} // namespace cairn
