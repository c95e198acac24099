// SPDX-License-Identifier: MIT
//
// TaggedPointer: an address and a version number in one word, for compare-exchanges that must not take a pointer that
// went and came back for one that stayed (the ABA problem).
//
// Adds:    pointer(), tag(), both in 64 bits.
// Needs:   addresses at multiples of Alignment that the kernel hands out without being asked for more (48 bits).
// Keeps:   the version has the bits that the address leaves: the low ones of its alignment and the upper 16. 32 bits at
//          64 KiB. It wraps: who sleeps through exactly 2^tag_bits changes of a word is fooled.
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

    /// What may stand in the same word next.
    TaggedPointer next(T *pointer) const { return {pointer, tag() + 1}; }

    friend constexpr bool operator==(TaggedPointer, TaggedPointer) = default;

private:
    static_assert(is_power_of_two(Alignment) && tag_bits >= 16 && tag_bits < 64);
    static constexpr std::uint64_t tag_mask_ = (std::uint64_t{1} << tag_bits) - 1;

    std::uint64_t bits_ = 0;
};

} // namespace cairn::sync
