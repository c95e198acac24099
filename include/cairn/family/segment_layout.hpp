// SPDX-License-Identifier: MIT
//
// Segment layout: where superblocks and their descriptors lie.
//
// Adds:    the descriptor of an address and back; how many blocks of 2^n bytes a superblock has.
// Needs:   segments of 16 superblocks at multiples of their size. The first superblock of each is the room for the
//          descriptors, which start at one of several offsets, so that not all of them want the same cache lines.
// Keeps:   nothing in a superblock but blocks: blocks are aligned to their size, and no block is at a segment's start.
// Threads: pure functions.
// Cost:    some three instructions from a block to the descriptor.
// Source:  NBmalloc, section 6: 64 KiB superblocks; where they lie is ours.
#pragma once

#include <cairn/sync/tagged_pointer.hpp>

namespace cairn::family {

template <class D, std::size_t Size>
struct SegmentLayout {
    using Descriptor = D;

    static constexpr std::size_t superblock = Size;
    static constexpr std::size_t in_segment = 16; ///< with the one that has the descriptors
    static constexpr std::size_t segment = in_segment * Size;

    /// The superblock's address and a version.
    using Reference = sync::TaggedPointer<char, Size>;

    static Descriptor *descriptor(const void *p) {
        const std::uintptr_t base = align_down(address_of(p), segment);
        return descriptors(base) + (address_of(p) - base) / Size;
    }

    static char *memory(const Descriptor *descriptor) {
        const std::uintptr_t base = align_down(address_of(descriptor), segment);
        const auto i = static_cast<std::size_t>(descriptor - descriptors(base));
        return reinterpret_cast<char *>(base + i * Size);
    }

    static constexpr std::uint32_t capacity(unsigned class_bit) {
        return static_cast<std::uint32_t>(Size >> class_bit);
    }

private:
    static constexpr std::size_t array_ = in_segment * sizeof(Descriptor);
    static constexpr std::size_t colours_ = Size / array_;
    static_assert(is_power_of_two(Size) && is_power_of_two(colours_), "descriptors fit into a superblock");

    static Descriptor *descriptors(std::uintptr_t base) {
        return reinterpret_cast<Descriptor *>(base + base / segment % colours_ * array_);
    }
};

} // namespace cairn::family
