// SPDX-License-Identifier: MIT
//
// XallocHeap: blocks of a stack that may be freed in any order. free marks a block as free; its memory can be reused
// when all younger blocks are free too.
//
//     Compose<MmapHeap, FixedStack<30_MiB>, Xalloc>   // the document's: one piece of memory, a limit
//     Compose<MmapHeap, Obstack<>, Xalloc>            // grows by chunks
//
// Adds:    freeing in any order, and with it a Heap; getSize (SizeRecord), clear, owns; remaining and reset
//          where the stack below has them.
// Needs:   a stack (StackHeap).
// Keeps:   a new block is placed right after the last block in use. getSize returns the requested size. While the
//          youngest block is in use, no freed block is reused: this layer is for blocks that come and go like the
//          frames of a stack, not for general use.
// Threads: one at a time.
// Errors:  nullptr from below, and when size and header do not fit into a size_t. In a build with assertions a double
//          free ends the process.
// Cost:    16 bytes a block; a few instructions each way, and a step for each block whose memory becomes reusable.
// Source:  Heap Layers, section 5.1: XallocHeap, after the allocator of 197.parser.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

namespace cairn {

/// The header of a block.
struct alignas(quantum) XallocRecord {
    XallocRecord *older; ///< the block before it
    std::size_t size_and_free;
};

template <StackHeap Super>
class XallocHeap : private Super {
    static_assert(alignment_of<Super> >= alignof(XallocRecord),
                  "blocks below must be aligned for the header");
    static constexpr bool bounded_ = requires(const Super &stack) { stack.remaining(); };
    static constexpr bool resets_ = requires(Super &stack) { stack.reset(); };

public:
    static constexpr std::size_t alignment = alignof(XallocRecord);
    using SizeRecord = XallocRecord;

    using Super::Super;
    constexpr XallocHeap() = default;
    XallocHeap(const XallocHeap &) = delete;
    XallocHeap &operator=(const XallocHeap &) = delete;

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > PTRDIFF_MAX)) {
            return nullptr;
        }
        auto *const block = static_cast<XallocRecord *>(Super::malloc(sizeof(XallocRecord) + size));
        if (CAIRN_UNLIKELY(block == nullptr)) {
            return nullptr;
        }
        *block = XallocRecord{youngest_, size << 1};
        youngest_ = block;
        return block + 1;
    }

    void free(void *p) {
        XallocRecord *block = record_of(p);
        if constexpr (platform::checked) {
            if (is_free(block)) {
                platform::fatal({"double free of ", p, ", a block of an XallocHeap"});
            }
        }
        block->size_and_free |= 1;
        if (block != youngest_) {
            return;
        }
        while (block->older != nullptr && is_free(block->older)) {
            block = block->older;
        }
        youngest_ = block->older;
        Super::free(block);
    }

    void clear() {
        youngest_ = nullptr;
        Super::clear();
    }

    void reset()
        requires resets_
    {
        youngest_ = nullptr;
        Super::reset();
    }

    static std::size_t getSize(void *p) { return record_of(p)->size_and_free >> 1; }

    /// Whether p is a block of this heap. True for an empty block only while a younger block lies right behind it: at
    /// its address a block of another heap may begin.
    bool owns(const void *p) const {
        return detail::owns_behind_header<Super>(*this, p, sizeof(XallocRecord));
    }

    std::size_t remaining() const
        requires bounded_
    {
        const std::size_t below = Super::remaining();
        return below < sizeof(XallocRecord) ? 0 : below - sizeof(XallocRecord);
    }

private:
    static XallocRecord *record_of(void *p) { return static_cast<XallocRecord *>(p) - 1; }
    static bool is_free(const XallocRecord *block) { return (block->size_and_free & 1) != 0; }

    XallocRecord *youngest_ = nullptr; ///< the last block; it is in use
};

struct Xalloc {
    template <class Super>
    using on = XallocHeap<Super>;
};

} // namespace cairn
