// SPDX-License-Identifier: MIT
//
// TaggedPointer: an address and a version number in one word. A compare-exchange of such words fails when the pointer
// was removed and put back in between (the ABA problem), because the version has changed.
//
// Adds:    pointer() and tag(), both in 64 bits.
// Needs:   addresses at multiples of Alignment, in the 48 bits of address space that the kernel uses by default.
// Keeps:   the version has the bits that the address leaves free: the low bits of the alignment and the upper 16; 32
//          bits at 64 KiB. The version wraps: a thread that is delayed for exactly 2^tag_bits changes does not see the
//          change.
// Threads: a value.
// Cost:    a shift or two.
// Source:  NBmalloc, section 6: versions in the low bits of superblock references, 16 there.
#pragma once

#include <cairn/core/bits.hpp>

namespace cairn::sync {

template <class T, std::size_t Alignment>
class TaggedPointer {
public:
    static constexpr unsigned tag_bits = 64 - (48 - log2_exact(Alignment));

    constexpr TaggedPointer() = default;
    TaggedPointer(T *pointer, std::uint64_t tag)
        : bits_(address_of(pointer) >> log2_exact(Alignment) << tag_bits | (tag & tag_mask_)) {}

    static constexpr TaggedPointer of_bits(std::uint64_t bits) {
        TaggedPointer result;
        result.bits_ = bits;
        return result;
    }
    constexpr std::uint64_t bits() const { return bits_; }

    T *pointer() const { return reinterpret_cast<T *>(bits_ >> tag_bits << log2_exact(Alignment)); }
    constexpr std::uint64_t tag() const { return bits_ & tag_mask_; }
    constexpr bool is_null() const { return bits_ >> tag_bits == 0; }

    /// The value that may replace this one in the same word: `pointer` with the next version.
    TaggedPointer next(T *pointer) const { return {pointer, tag() + 1}; }

    friend constexpr bool operator==(TaggedPointer, TaggedPointer) = default;

private:
    static_assert(is_power_of_two(Alignment) && tag_bits >= 16 && tag_bits < 64);
    static constexpr std::uint64_t tag_mask_ = (std::uint64_t{1} << tag_bits) - 1;

    std::uint64_t bits_ = 0;
};

} // namespace cairn::sync
