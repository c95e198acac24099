// SPDX-License-Identifier: MIT
//
// BoundaryTag: one word before each block by which a heap walks to both neighbours, splits a block and joins two.
//
// Adds:    the distance to the next tag; whether this block, and the previous one, is in use; a mark that a heap may
//          set to recognise its blocks; a fence, the tag that ends a region.
// Needs:   adjacent blocks in a region whose first tag says that the previous block is in use and whose last tag is a
//          fence.
// Keeps:   blocks are aligned to 16 bytes, and the tag of a block lies 8 bytes before it: a block of n bytes takes n +
//          8, rounded up to 16. A free block repeats its length in its last word, right before the next tag; while the
//          block is in use the program may write to that word.
// Threads: one at a time for each region.
// Cost:    8 bytes a block; a load or two for each query.
// Source:  Heap Layers, section 3.2: CoalesceableHeap records the size, and in the next object whether this one is
//          free. That the size of the previous block is kept only while it is free is Knuth's boundary tag.
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
    /// The shortest distance from tag to tag: a free block has room for two links and the repeated length.
    static constexpr std::size_t smallest = 32;
    /// Larger requests are refused; a sum of this with an alignment and a region's overhead fits into a size_t.
    static constexpr std::size_t largest_request = PTRDIFF_MAX / 2;

    /// The distance from tag to tag for a block of `size` bytes.
    static constexpr std::size_t bytes_for(std::size_t size) {
        return std::max(smallest, align_up(size + sizeof(BoundaryTag), unit));
    }
    /// The usable size of a block that takes `bytes` from tag to tag.
    static constexpr std::size_t room_in(std::size_t bytes) { return bytes - sizeof(BoundaryTag); }

    static BoundaryTag *of(void *block) { return static_cast<BoundaryTag *>(block) - 1; }
    void *block() { return this + 1; }

    std::size_t bytes() const { return word_ & ~bits_; }
    bool in_use() const { return (word_ & in_use_) != 0; }
    bool before_in_use() const { return (word_ & before_in_use_) != 0; }
    bool marked() const { return (word_ & marked_) != 0; }
    bool is_fence() const { return (word_ & fence_) != 0; }

    /// In a build with assertions: ends the process if this is not a block in use, or if the next tag contradicts it.
    void check_in_use() {
        if constexpr (platform::checked) {
            if (!in_use() || is_fence() || bytes() < smallest || bytes() > longest_ ||
                !next()->before_in_use()) {
                platform::fatal({"free of ", block(), ", which is free or has a broken boundary tag"});
            }
        }
    }

    BoundaryTag *next() { return at(bytes()); }
    /// The previous block, which is free.
    BoundaryTag *before() {
        return reinterpret_cast<BoundaryTag *>(reinterpret_cast<char *>(this) - this[-1].word_);
    }

    /// Makes this the tag of the first block of a region, in use.
    void start(std::size_t bytes, bool mark) { word_ = bytes | in_use_ | before_in_use_ | mark_bit(mark); }
    /// Makes this the fence of a region, behind a block in use; it records the distance back to the first tag.
    void fence(std::size_t back) { word_ = back | in_use_ | before_in_use_ | fence_; }
    /// The region has grown: the fence becomes the tag of a block in use.
    void unfence(std::size_t bytes, bool mark) {
        word_ = bytes | in_use_ | (word_ & before_in_use_) | mark_bit(mark);
    }

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

    /// Joins the next block to this one. Whether this block is in use does not change, and the tag behind is not
    /// updated.
    void join_next() { word_ += next()->bytes(); }

    /// Shortens a block in use to `bytes`; the rest becomes a block in use behind it, which is returned.
    BoundaryTag *split(std::size_t bytes) {
        BoundaryTag *const rest = at(bytes);
        rest->word_ = (this->bytes() - bytes) | in_use_ | before_in_use_ | (word_ & marked_);
        word_ = bytes | (word_ & bits_);
        return rest;
    }

    /// Splits a block in use so that the rest starts at a multiple of `alignment` and the first part is long enough to
    /// be a block. Returns the rest.
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

    /// No block fills half of the address space: what says so is text, or a pointer.
    static constexpr std::size_t longest_ = std::size_t{1} << (platform::address_bits - 1);

    static constexpr std::size_t mark_bit(bool mark) { return mark ? marked_ : 0; }
    BoundaryTag *at(std::size_t distance) {
        return reinterpret_cast<BoundaryTag *>(reinterpret_cast<char *>(this) + distance);
    }

    std::size_t word_;
};

static_assert(sizeof(BoundaryTag) == 8 && BoundaryTag::bytes_for(24) == 32 &&
              BoundaryTag::bytes_for(25) == 48);

/// Marks a block in use as free for a scope. Its contents stay, also the last word, in which a free block repeats its
/// length.
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

/// Blocks of H may bear the mark: H declares that all do (`marked`) or that some do (`marks`). A layer that passes such
/// blocks on declares what the heap below does.
template <class H>
concept MayMark = requires { requires H::marked; } || requires { requires H::marks; };

/// All blocks of H bear the mark.
template <class H>
concept MarksAll = requires { requires H::marked; };

/// H joins free blocks by their tags, or several heaps hold blocks of H. H declares this (`joins`), and so does a layer
/// that passes its blocks on: a layer above must not join blocks by the same tags.
template <class H>
concept Joins = requires { requires H::joins; };

} // namespace cairn
