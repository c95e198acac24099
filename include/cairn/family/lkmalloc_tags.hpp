// SPDX-License-Identifier: MIT
//
// Boundary tags: four bytes before each block and four at its end that say how long it is and whether it is free.
//
//     ... payload of A ...  [footer of A][header of B]  ... payload of B ...  [footer of B][header of C]
//                                                       ^ the address of B; sizes are distances of such addresses
//
// Adds:    reading and writing of tags; the names of a block's states.
// Needs:   memory in which blocks stand one behind the other, addresses and sizes multiples of eight, and before the
//          first and after the last one a tag that reads as busy: zeros do.
// Keeps:   both tags of a block are written by whoever owns it (docs/lkmalloc.md: the owner of a block).
// Threads: tags are atomic objects, because the owners of the two neighbours read them at any time.
// Cost:    eight bytes a block.
// Source:  LKmalloc, section 6, C: size and type in a 4-byte field at the beginning and at the end of each block.
#pragma once

#include <atomic>

namespace cairn::lkmalloc {

/// `busy`: the program's, or in the hands of a thread. `free`: on a list. `offered`: somebody who holds the lock of its
/// list looks at the neighbours and will make it one or the other. The document has no third state; see
/// docs/lkmalloc.md.
enum class State : std::uint32_t { busy = 0, offered = 1, free = 2 };

class Tag {
public:
    constexpr Tag(std::size_t size, State state)
        : bits_(static_cast<std::uint32_t>(size) | static_cast<std::uint32_t>(state)) {}
    explicit constexpr Tag(std::uint32_t bits) : bits_(bits) {}

    constexpr std::size_t size() const { return bits_ & ~state_mask_; }
    constexpr State state() const { return static_cast<State>(bits_ & state_mask_); }
    constexpr std::uint32_t bits() const { return bits_; }
    bool operator==(const Tag &) const = default;

private:
    static constexpr std::uint32_t state_mask_ = 7;
    std::uint32_t bits_;
};
static_assert(Tag(std::uint32_t{0}) == Tag(0, State::busy), "fresh pages fence a stripe");

inline constexpr std::size_t tag_bytes = 4;
inline constexpr std::size_t tags_bytes = 2 * tag_bytes; ///< of one block

namespace detail {
/// relaxed, all of them. A tag that is read without a lock is a hint, or is followed by a fence (FreeLists::put); what
/// it promised is looked at again under the lock of the block's list. That lock orders what must be: a tag becomes
/// `free`, and stops to be, only while it is held.
inline Tag load(const char *place) {
    auto &word = *reinterpret_cast<std::uint32_t *>(const_cast<char *>(place));
    return Tag(std::atomic_ref(word).load(std::memory_order_relaxed));
}
inline void store(char *place, Tag tag) {
    std::atomic_ref(*reinterpret_cast<std::uint32_t *>(place)).store(tag.bits(), std::memory_order_relaxed);
}
} // namespace detail

/// Of the block at p.
inline Tag header_of(const char *p) {
    return detail::load(p - tag_bytes);
}
/// Of the block that ends where the one at p begins.
inline Tag footer_before(const char *p) {
    return detail::load(p - tags_bytes);
}
/// Both tags of the block at p.
inline void set_tags(char *p, Tag tag) {
    detail::store(p - tag_bytes, tag);
    detail::store(p + tag.size() - tags_bytes, tag);
}

/// A block in the hands of a thread. [dirty_begin, dirty_end) are the bytes of it that may have memory behind them; the
/// rest are whole pages that were given back while it was free.
struct Block {
    char *start;
    std::size_t size;
    char *dirty_begin;
    char *dirty_end;

    char *end() const { return start + size; }
};

/// All of it may have memory behind it.
inline Block dirty_block(char *start, std::size_t size) {
    return {start, size, start, start + size};
}

} // namespace cairn::lkmalloc
