// SPDX-License-Identifier: MIT
//
// BoundaryTag: one word before each block that lets a heap walk to both neighbours, split and join.
//
// Adds:    the bytes to the next tag; whether this block, and the one before it, is in use; a mark that a heap
//          may set to know its blocks again; a fence that ends a region.
// Needs:   blocks behind each other in a region whose first tag says "before in use" and whose last is a fence.
// Keeps:   blocks are aligned to 16 bytes and their tags lie 8 bytes before them, so that a block of n bytes
//          takes n + 8, rounded up to 16. A free block repeats its bytes in its last word, where the next tag
//          finds them; the word is the program's while the block is in use.
// Threads: one at a time for each region.
// Cost:    8 bytes a block; a load or two a question.
// Source:  Heap Layers, section 3.2: CoalesceableHeap records the size, and in the next object whether this
//          one is free. To keep the size of the block before only while it is free is Knuth's boundary tag.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstring>

namespace cairn {

class BoundaryTag {
public:
    /// All distances between tags are multiples of this.
    static constexpr std::size_t unit = quantum;
    /// Tag to tag: room for two links and the repeated word in a free block.
    static constexpr std::size_t smallest = 32;
    /// No request above this is served; sums of it with alignments and regions still fit.
    static constexpr std::size_t largest_request = PTRDIFF_MAX / 2;

    /// Tag to tag, for a block of `size` bytes.
    static constexpr std::size_t bytes_for(std::size_t size) {
        return std::max(smallest, align_up(size + sizeof(BoundaryTag), unit));
    }
    /// The bytes of a block that takes `bytes`.
    static constexpr std::size_t room_in(std::size_t bytes) { return bytes - sizeof(BoundaryTag); }

    static BoundaryTag *of(void *block) { return static_cast<BoundaryTag *>(block) - 1; }
    void *block() { return this + 1; }

    std::size_t bytes() const { return word_ & ~bits_; }
    bool in_use() const { return (word_ & in_use_) != 0; }
    bool before_in_use() const { return (word_ & before_in_use_) != 0; }
    bool marked() const { return (word_ & marked_) != 0; }
    bool is_fence() const { return (word_ & fence_) != 0; }

    /// A build with assertions stops where this is no block in use, or where the tag behind it says something else.
    void check_in_use() {
        if constexpr (platform::checked) {
            if (!in_use() || is_fence() || bytes() < smallest || !next()->before_in_use()) {
                platform::fatal({"free of ", block(), ", which is free or has a broken boundary tag"});
            }
        }
    }

    BoundaryTag *next() { return at(bytes()); }
    /// The block before, which is free.
    BoundaryTag *before() {
        return reinterpret_cast<BoundaryTag *>(reinterpret_cast<char *>(this) - this[-1].word_);
    }

    /// The first block of a region, in use.
    void start(std::size_t bytes, bool mark) { word_ = bytes | in_use_ | before_in_use_ | mark_bit(mark); }
    /// The end of a region, behind a block in use; it says how far back the first tag is.
    void fence(std::size_t back) { word_ = back | in_use_ | before_in_use_ | fence_; }
    /// A fence whose region has grown becomes a block in use.
    void unfence(std::size_t bytes) { word_ = bytes | in_use_ | (word_ & before_in_use_); }

    void mark_in_use() {
        word_ |= in_use_;
        next()->word_ |= before_in_use_;
    }
    void mark_free() {
        word_ &= ~in_use_;
        BoundaryTag *const behind = next();
        behind[-1].word_ = bytes();
        behind->word_ &= ~before_in_use_;
    }

    /// Takes the next block in; this one's use stays, what is behind is not told.
    void join_next() { word_ += next()->bytes(); }

    /// Keeps `bytes` of a block in use; the rest becomes a block in use behind it.
    BoundaryTag *split(std::size_t bytes) {
        BoundaryTag *const rest = at(bytes);
        rest->word_ = (this->bytes() - bytes) | in_use_ | before_in_use_ | (word_ & marked_);
        word_ = bytes | (word_ & bits_);
        return rest;
    }

    /// The same where the rest starts at a multiple of `alignment`, and what is kept makes a block.
    BoundaryTag *split_before(std::size_t alignment) {
        const std::size_t start = address_of(block());
        return split(align_up(start + smallest, alignment) - start);
    }

private:
    static constexpr std::size_t in_use_ = 1;
    static constexpr std::size_t before_in_use_ = 2;
    static constexpr std::size_t marked_ = 4;
    static constexpr std::size_t fence_ = 8;
    static constexpr std::size_t bits_ = unit - 1;
    static_assert((in_use_ | before_in_use_ | marked_ | fence_) == bits_);

    static constexpr std::size_t mark_bit(bool mark) { return mark ? marked_ : 0; }
    BoundaryTag *at(std::size_t distance) {
        return reinterpret_cast<BoundaryTag *>(reinterpret_cast<char *>(this) + distance);
    }

    std::size_t word_;
};

static_assert(sizeof(BoundaryTag) == 8 && BoundaryTag::bytes_for(24) == 32 &&
              BoundaryTag::bytes_for(25) == 48);

/// A block in use that looks free as long as this lives: its contents stay, also where a free block repeats its bytes.
class LooksFree {
public:
    explicit LooksFree(BoundaryTag *tag) : tag_(tag), last_word_(tag->next() - 1) {
        std::memcpy(contents_, last_word_, sizeof contents_);
        tag_->mark_free();
    }
    LooksFree(const LooksFree &) = delete;
    LooksFree &operator=(const LooksFree &) = delete;
    ~LooksFree() {
        tag_->mark_in_use();
        std::memcpy(last_word_, contents_, sizeof contents_);
    }

private:
    BoundaryTag *tag_;
    void *last_word_;
    unsigned char contents_[sizeof(BoundaryTag)];
};

/// A heap whose blocks have boundary tags.
template <class H>
concept TaggedHeap = SelfSizedHeap<H> && std::same_as<typename H::SizeRecord, BoundaryTag>;

/// Blocks of it may bear the mark: all (`marked`) or some (`marks`), as it says. Layers that hand such blocks on say the same.
template <class H>
concept MayMark = requires { requires H::marked; } || requires { requires H::marks; };

/// All blocks of it bear the mark.
template <class H>
concept MarksAll = requires { requires H::marked; };

/// It joins free blocks by their tags, or several hold them, as it says (`joins`), and layers that hand its blocks on: none
/// above may join by the same tags.
template <class H>
concept Joins = requires { requires H::joins; };

} // namespace cairn
