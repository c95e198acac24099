// SPDX-License-Identifier: MIT
//
// SizeHeaderHeap: records the requested size of each block in a header right before it.
//
// Adds:    getSize, static (SizeRecord names the header, for layers that tell blocks of several heaps apart by their
//          size). owns and clear where the heap below has them.
// Needs:   a heap.
// Keeps:   getSize returns the requested size. Blocks have the alignment of the heap below, up to that of C's malloc.
// Threads: those of the heap below, whose locks are held across a fork where it can hold them.
// Errors:  nullptr from below, and when size and header do not fit into a size_t.
// Cost:    16 bytes a block, one store, one load. With owns, malloc(0) takes as much as malloc(1).
// Source:  Heap Layers, section 6.1: SizeHeap. That layer writes to a nullptr from below; this one passes it up.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/across_fork.hpp>

#include <algorithm>

namespace cairn {

/// The header: a size, padded so that the block behind it keeps its alignment.
struct alignas(quantum) SizeHeaderWord {
    std::size_t size;
};

template <Heap Super>
class SizeHeaderHeap : private Super {
    static_assert(alignment_of<Super> >= alignof(SizeHeaderWord),
                  "blocks below must be aligned for the header");

public:
    using Super::Super;
    static constexpr std::size_t alignment = alignof(SizeHeaderWord);
    static constexpr bool takes_others = TakesOthers<Super>;
    using SizeRecord = SizeHeaderWord;

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > SIZE_MAX - sizeof(SizeHeaderWord))) {
            return nullptr;
        }
        auto *const header =
            static_cast<SizeHeaderWord *>(Super::malloc(std::max(size, least_) + sizeof(SizeHeaderWord)));
        if (CAIRN_UNLIKELY(header == nullptr)) {
            return nullptr;
        }
        header->size = size;
        return header + 1;
    }

    void free(void *p) { Super::free(header_of(p)); }

    static std::size_t getSize(void *p) { return header_of(p)->size; }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return detail::owns_behind_header<Super>(*this, p, sizeof(SizeHeaderWord));
    }

    void clear()
        requires ClearableHeap<Super>
    {
        Super::clear();
    }

    void lock_all()
        requires sync::ForkLocks<Super>
    {
        Super::lock_all();
    }
    void unlock_all(sync::AfterFork side)
        requires sync::ForkLocks<Super>
    {
        Super::unlock_all(side);
    }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        Super::begin_in_child();
    }

private:
    /// owns() asks for the byte behind the header: a block below has at least that one.
    static constexpr std::size_t least_ = OwningHeap<Super> ? 1 : 0;

    static SizeHeaderWord *header_of(void *p) { return static_cast<SizeHeaderWord *>(p) - 1; }
};

struct SizeHeader {
    template <class Super>
    using on = SizeHeaderHeap<Super>;
};

} // namespace cairn
