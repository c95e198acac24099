// SPDX-License-Identifier: MIT
//
// DictionaryHeap: keeps freed blocks in a dictionary, a data structure whose links lie in the blocks. Its stage is
// called Adapt, as in Heap Layers.
//
// Adds:    reuse in the order of the dictionary; remove(p), which takes one free block out of the dictionary, so that a
//          layer above can join it with a neighbour. getSize, owns and clear where the heap below has them.
// Needs:   a heap; a dictionary, such as DoublyLinked. Requests of one size only.
// Keeps:   a block has room for the dictionary's links. Destroying the heap gives the held blocks back.
// Threads: one at a time.
// Errors:  nullptr when the dictionary is empty and the heap below is out of memory.
// Cost:    those of the dictionary; the number of blocks in it is not bounded.
// Source:  Heap Layers, section 3.2: AdaptHeap, and with DoublyLinked the FIFO list that supports coalescing.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/doubly_linked.hpp>

#include <algorithm>

namespace cairn {

/// A set of free blocks whose links lie in the blocks.
template <class D>
concept Dictionary = std::default_initializable<D> && requires(D &d, const D &asked, void *block) {
    { D::smallest } -> std::convertible_to<std::size_t>;
    { d.insert(block) } -> std::same_as<void>;
    { d.take() } -> std::same_as<void *>;
    { d.remove(block) } -> std::same_as<void>;
    { d.clear() } -> std::same_as<void>;
    { asked.empty() } -> std::same_as<bool>;
    {
        asked.find([](void *) { return true; }, 1u)
    } -> std::same_as<void *>;
};

/// remove(p): takes p, a freed block that this heap holds, out of the heap; the caller may use it.
template <class H>
concept HoldingHeap = Heap<H> && requires(H &h, void *p) {
    { h.remove(p) } -> std::same_as<void>;
};

namespace detail {
/// The smallest size of a block that H can hold, where H declares one; otherwise 0.
template <class H>
inline constexpr std::size_t smallest_of = 0;
template <class H>
    requires requires { H::smallest; }
inline constexpr std::size_t smallest_of<H> = H::smallest;
} // namespace detail

template <Heap Super, Dictionary Held = DoublyLinked>
class DictionaryHeap : private Super {
public:
    using Super::Super;
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool takes_others = KeepsOthers<Super>;
    static_assert(alignment >= alignof(void *), "blocks below must be aligned for pointers");

    DictionaryHeap() = default;
    DictionaryHeap(const DictionaryHeap &) = delete;
    DictionaryHeap &operator=(const DictionaryHeap &) = delete;

    ~DictionaryHeap() {
        while (void *const block = held_.take()) {
            Super::free(block);
        }
    }

    void *malloc(std::size_t size) {
        void *const block = held_.take();
        return block != nullptr ? block : Super::malloc(std::max<std::size_t>(size, Held::smallest));
    }

    void free(void *p) { held_.insert(p); }

    void remove(void *p) { held_.remove(p); }

    std::size_t getSize(void *p) const
        requires SizedHeap<Super>
    {
        return Super::getSize(p);
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return Super::owns(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        held_.clear();
        Super::clear();
    }

private:
    Held held_;
};

template <class Held = DoublyLinked>
struct Adapt {
    template <class Super>
    using on = DictionaryHeap<Super, Held>;
};

} // namespace cairn
