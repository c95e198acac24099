// SPDX-License-Identifier: MIT
//
// Descriptors: what is known about a slot (64 KiB of address space), kept away from the blocks in three cache
// lines of three arrays, so that what the owner writes, what other threads write and what all read never share a line, nor a
// pair of lines that a processor fetches at once.
//
// Adds:    OwnerLine (touched by whoever owns the superblock), SharedLine (read by every free) and RemoteLine (written by
//          remote frees). The first two describe free and large runs too, in their first slot.
// Needs:   zeroed memory.
// Keeps:   a SharedLine's `owner` is non-null only while the slot is one of a superblock's in a heap.
// Threads: see each field.
// Source:  Wen and Deng, section 3.2.2: keep the metadata together and apart from the blocks, or each remote
//          free misses on a line of its own.
#pragma once

#include <cairn/platform/features.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn {

/// Where a superblock stands.
enum class Place : std::uint8_t {
    nowhere, ///< not in a list: on its way between two heaps
    current, ///< the one that its class allocates from
    partial, ///< in a fullness group
    full,    ///< nothing to allocate until blocks come back
    empty,   ///< no live block: may be formatted for any class
    orphan,  ///< a fork has lost its heap, and nobody has recounted it since
};

/// Written by the owner: the thread of the heap that holds the superblock, or whoever holds that heap's lock; but for `freed_by_others`.
struct alignas(platform::line_pair) OwnerLine {
    std::uintptr_t free;            ///< first free block; odd: the list is empty (superblock::is_end)
    std::uint64_t cookie;           ///< secret of this superblock, links are encoded with it
    std::int32_t frees_until_check; ///< a free that brings it to 0 checks the superblock
    std::int32_t check_at;          ///< live blocks when that comes: live() is the sum of both
    std::uint32_t accounted;        ///< live blocks as the heap's u knows them
    std::uint32_t carved;           ///< blocks cut from the superblock so far
    OwnerLine *next;                ///< neighbours in whatever list `place` says
    OwnerLine *previous;
    std::uint32_t
        touched; ///< bytes from the start that are in memory; superblock::held_by says what of it counts
    std::uint16_t slots; ///< length of the run; valid for the first slot of any run
    std::uint8_t size_class;
    std::uint8_t group; ///< fullness group, while partial
    Place place;
    std::atomic<bool>
        freed_by_others; ///< other threads have freed blocks of it (note_freed_by_others). relaxed: a hint
    std::uint16_t last_heap; ///< number of the heap that gave it to the global heap
    std::int32_t
        prefetch_offset; ///< bytes from a block that is freed to the line that is fetched then (watch_free_order)

    std::uint32_t carved_at_visit; ///< `carved` when a visitor last came (take_carved_flag)

    std::uint32_t live() const { return static_cast<std::uint32_t>(check_at + frees_until_check); }
};
static_assert(sizeof(OwnerLine) == platform::line_pair);
static_assert(offsetof(OwnerLine, carved_at_visit) ==
              platform::cache_line); // what malloc and free use is one line

/// A list of superblocks, or of runs, linked by the lines of their first slots. The one that was put last comes first.
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

/// Read by every free; written when the superblock changes hands or a page more is cut. In the second half of its
/// pair: the arrays lie a multiple of 4 KiB apart, so that in the first half it would share one set of the first
/// cache with its owner's line, and all descriptors together would use half of the sets.
struct alignas(platform::line_pair) SharedLine {
    std::byte unused[platform::cache_line];

    // What a free asks: the same in the lines of all slots of a superblock.
    std::atomic<void *>
        owner; ///< the ThreadHeap; that it is one's own is for its own thread to conclude, between
               ///< sync::Presence's begin and end (any: quick_find)
    std::uint64_t reciprocal;   ///< the least number above 2^64 / block size
    std::uint64_t key;          ///< the cookie xor the superblock's address: makes an encoded link an offset
    std::uintptr_t first_block; ///< where the first block begins, or a long one
    std::atomic<std::uint64_t>
        starts_below; ///< tells the starts of blocks that were carved (is_block_start), here of those that
                      ///< begin in the slot; relaxed: a block was carved in its pointer's own history.
                      ///< Of a large run: Segment::LargeBlock
    std::atomic<std::uint8_t>
        slots_before; ///< so many slots of its superblock lie before this one. relaxed: in the history of a pointer
                      ///< to a live block, a remnant for any other one

    // The others: in that of the first slot.
    std::uint32_t block_size; ///< bytes; of a large run: its usable bytes
    std::uint16_t capacity;   ///< blocks of the whole superblock
    std::uint8_t size_class;
    std::uint8_t slots; ///< the same as the owner's, of a superblock: a remote free leaves that line alone
    std::uint16_t step; ///< after so many more remote frees somebody is told once more
    std::uint16_t
        marked; ///< blocks from the start that are free or were handed out: more than `carved` once cut anew
    std::uint8_t gather; ///< so many blocks another thread may keep to give them back at once (Gathering)
    std::atomic<bool> freed_by_others; ///< the OwnerLine's is set
};
static_assert(sizeof(SharedLine) == platform::line_pair);
static_assert(offsetof(SharedLine, owner) == platform::cache_line);

/// Written by frees of other threads, and by who takes or counts what they freed: apart from what every free reads.
struct alignas(platform::line_pair) RemoteLine {
    std::atomic<std::uint64_t> word; ///< blocks freed by others, and who owns the superblock (RemoteWord)
    std::atomic<OwnerLine *> pending_next; ///< while queued at the owner
    std::atomic<std::uint16_t> notify;     ///< so many remote frees make the freeing thread tell the owner
};
static_assert(sizeof(RemoteLine) == platform::line_pair);

} // namespace cairn
