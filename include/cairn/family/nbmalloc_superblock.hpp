// SPDX-License-Identifier: MIT
//
// NBmalloc's superblock: its descriptor, and where descriptors and superblocks lie.
//
// Adds:    descriptor of an address and back; NbMove, the paper's mv_info.
// Needs:   segments of 16 superblocks at multiples of their size. The first superblock of each is the room for the
//          descriptors, which start at one of several offsets, so that not all of them want the same cache lines.
// Keeps:   nothing in a superblock but blocks: blocks are aligned to their size, and no block is at a segment's start.
//          A superblock has one size class for life. Neither it nor its descriptor is unmapped while the heap lives, so
//          a stale reference may always be looked at.
// Threads: any.
// Cost:    some three instructions from a block to the descriptor.
// Source:  NBmalloc, Fig. 3, structures superblock and move_info; section 6: 64 KiB superblocks.
#pragma once

#include <cairn/platform/double_word.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/ibm_freelist.hpp>
#include <cairn/sync/tagged_pointer.hpp>

namespace cairn {

/// A place for one reference: a slot of a flat-set, or the superblock's own slot outside of all sets.
using NbLocation = std::uint32_t;
inline constexpr NbLocation nb_nowhere = 0;

/// Where a superblock is, and where it is going. With `to` nowhere: the slot at `from` holds the superblock, with
/// version `from_version`. Otherwise a move to the slot `to` is under way; it may fill it only if it is empty with
/// `to_version`.
struct NbMove {
    NbLocation from = nb_nowhere;
    std::uint32_t from_version = 0;
    NbLocation to = nb_nowhere;
    std::uint32_t to_version = 0;

    constexpr bool under_way() const { return to != nb_nowhere; }
    constexpr NbMove settled() const { return {from, from_version, nb_nowhere, 0}; }

    constexpr platform::DoubleWord word() const {
        return {from | std::uint64_t{from_version} << 32, to | std::uint64_t{to_version} << 32};
    }
    static constexpr NbMove of(platform::DoubleWord word) {
        return {static_cast<NbLocation>(word.low), static_cast<std::uint32_t>(word.low >> 32),
                static_cast<NbLocation>(word.high), static_cast<std::uint32_t>(word.high >> 32)};
    }

    friend constexpr bool operator==(const NbMove &, const NbMove &) = default;
};

struct alignas(2 * platform::cache_line) NbSuperblock {
    platform::AtomicDoubleWord moves;        ///< an NbMove: mv_info
    std::atomic<std::uint64_t> outside{0};   ///< the slot that is in no set
    std::atomic<char *> next{nullptr};       ///< on the stack of those that found no room in any set
    std::atomic<bool> listed{false};         ///< it is on that stack
    std::atomic<std::uint32_t> class_bit{0}; ///< log2 of the block size; 0: never used

    alignas(platform::cache_line) sync::IbmFreelist blocks;
};

template <std::size_t Size>
struct NbLayout {
    static constexpr std::size_t superblock = Size;
    static constexpr std::size_t in_segment = 16; ///< with the one that has the descriptors
    static constexpr std::size_t segment = in_segment * Size;

    /// superblock_ref: the superblock's address and a version.
    using Reference = sync::TaggedPointer<char, Size>;

    static NbSuperblock *descriptor(const void *p) {
        const std::uintptr_t base = align_down(address_of(p), segment);
        return descriptors(base) + (address_of(p) - base) / Size;
    }

    static char *memory(const NbSuperblock *descriptor) {
        const std::uintptr_t base = align_down(address_of(descriptor), segment);
        const auto i = static_cast<std::size_t>(descriptor - descriptors(base));
        return reinterpret_cast<char *>(base + i * Size);
    }

    static std::uint32_t capacity(unsigned class_bit) {
        return static_cast<std::uint32_t>(Size >> class_bit);
    }

private:
    static constexpr std::size_t array_ = in_segment * sizeof(NbSuperblock);
    static constexpr std::size_t colours_ = Size / array_;
    static_assert(is_power_of_two(Size) && is_power_of_two(colours_), "descriptors fit into a superblock");

    static NbSuperblock *descriptors(std::uintptr_t base) {
        return reinterpret_cast<NbSuperblock *>(base + base / segment % colours_ * array_);
    }
};

} // namespace cairn
