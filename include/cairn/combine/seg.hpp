// SPDX-License-Identifier: MIT
//
// SegHeap: segregated fits. Each size class has a bin of free blocks; when the bin of a request is empty, a block from
// the bin of a larger class is used.
//
// Adds:    reuse of blocks for smaller requests; remove(p), which takes a free block out of its bin. getSize. owns and
//          clear where the heap below has them.
// Needs:   a heap whose blocks record their size; Classes, a generator of size classes; Bin, a dictionary.
// Keeps:   a free block is in the bin of the largest class whose size it has, so every block of a bin fits every
//          request of the class. For a request between two class sizes, malloc first searches the first `probes` blocks
//          of the class below, where a block may fit more closely, then takes a block of the smallest class that has
//          one: best fit to within a class. A fitting block behind `probes` blocks that do not fit is not found; then a
//          larger block is used, or, above all classes, memory of the heap below. Destroying the heap gives the held
//          blocks back.
// Threads: one at a time.
// Errors:  nullptr when no bin has a block that fits and the heap below is out of memory.
// Cost:    class_of each way, a search in a bitmap for malloc; getSize, which is also called for free blocks.
// Source:  Heap Layers, section 6.2: SegHeap searches all of its heaps for available memory. StrictSegHeap is
//          combine/segregated.hpp.
#pragma once

#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/dictionary.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sizeclass/classes.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace cairn {

template <SelfSizedHeap Super, SizeClasses Classes, Dictionary Bin = DoublyLinked>
class SegHeap : private Super {
public:
    using Super::Super;
    using SizeRecord = typename Super::SizeRecord;
    static constexpr bool marks = MayMark<Super>, joins = Joins<Super>, takes_others = KeepsOthers<Super>;
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr unsigned probes = 16;
    /// The smallest size of a free block, which has room for the links and has a class. Smaller requests are rounded
    /// up.
    static constexpr std::size_t smallest = std::max<std::size_t>(Bin::smallest, Classes::size_of(0));

    SegHeap() = default;
    SegHeap(const SegHeap &) = delete;
    SegHeap &operator=(const SegHeap &) = delete;

    ~SegHeap() {
        for (Bin &bin : bins_) {
            while (void *const block = bin.take()) {
                Super::free(block);
            }
        }
    }

    void *malloc(std::size_t size) {
        const std::size_t wanted = std::max(size, smallest);
        unsigned c = count_;
        if (CAIRN_LIKELY(wanted <= Classes::largest)) {
            c = Classes::class_of(wanted);
        }
        if (c == count_ || (c > 0 && Classes::size_of(c) != wanted)) {
            if (void *const block = take_fitting(c - 1, wanted); block != nullptr) {
                return block;
            }
        }
        c = next_filled(c);
        return c < count_ ? take(c) : Super::malloc(wanted);
    }

    void free(void *p) {
        const unsigned c = bin_of(p);
        bins_[c].insert(p);
        filled_[c / 64] |= bit(c);
    }

    void remove(void *p) {
        const unsigned c = bin_of(p);
        bins_[c].remove(p);
        note_emptied(c);
    }

    static std::size_t getSize(void *p) { return Super::getSize(p); }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return Super::owns(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        for (Bin &bin : bins_) {
            bin.clear();
        }
        for (std::uint64_t &word : filled_) {
            word = 0;
        }
        Super::clear();
    }

private:
    static constexpr auto count_ = static_cast<unsigned>(Classes::count);
    static constexpr unsigned words_ = count_ / 64 + 1;

    static constexpr std::uint64_t bit(unsigned c) { return std::uint64_t{1} << c % 64; }

    static unsigned bin_of(void *p) { return class_below<Classes>(Super::getSize(p)); }

    void note_emptied(unsigned c) {
        if (bins_[c].empty()) {
            filled_[c / 64] &= ~bit(c);
        }
    }

    void *take(unsigned c) {
        void *const block = bins_[c].take();
        note_emptied(c);
        return block;
    }

    void *take_fitting(unsigned c, std::size_t wanted) {
        void *const block = bins_[c].find([&](void *held) { return Super::getSize(held) >= wanted; }, probes);
        if (block != nullptr) {
            bins_[c].remove(block);
            note_emptied(c);
        }
        return block;
    }

    /// The smallest class from c on whose bin is not empty; count_ or more if there is none.
    unsigned next_filled(unsigned c) const {
        unsigned word = c / 64;
        std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << c % 64);
        while (bits == 0) {
            if (++word >= words_) {
                return count_;
            }
            bits = filled_[word];
        }
        return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
    }

    Bin bins_[Classes::count];
    std::uint64_t filled_[words_] = {}; ///< one bit a class: its bin is not empty
};

template <class Classes, class Bin = DoublyLinked>
struct Seg {
    template <class Super>
    using on = SegHeap<Super, Classes, Bin>;
};

} // namespace cairn
