// SPDX-License-Identifier: MIT
//
// NBmalloc's superblock: its descriptor.
//
// Adds:    NbMove, the paper's mv_info; the descriptor.
// Needs:   segment_layout.hpp, which finds the descriptor of an address.
// Keeps:   a superblock has one size class for life. Neither it nor its descriptor is unmapped while the heap lives, so
//          a stale reference may always be looked at.
// Threads: any.
// Source:  NBmalloc, Fig. 3, structures superblock and move_info.
#pragma once

#include <cairn/family/segment_layout.hpp>
#include <cairn/platform/double_word.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/ibm_freelist.hpp>

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

    /// What Segments keeps in the descriptor of the superblock that has the descriptors.
    void set_mapping(std::uint64_t start, std::uint64_t length) { moves.set_alone({start, length}); }
    platform::DoubleWord mapping() const { return {moves.low(), moves.high()}; }
};

template <std::size_t Size>
using NbLayout = family::SegmentLayout<NbSuperblock, Size>;

} // namespace cairn
