// SPDX-License-Identifier: MIT
//
// HoardRouting: Hoard as a heap: small requests to size classes, large ones to the operating system.
//
// Adds:    malloc, free, memalign, malloc_zeroed, getSize, statistics; lock_all and unlock_all for a fork.
// Needs:   Design (what HoardDesign makes of the parameters); a PageSource whose calls any threads may make.
// Keeps:   blocks of 16 bytes and more are at multiples of 16, smaller ones at multiples of 8. A small aligned block
//          may lie inside of a block of its class: free and getSize find the block's start.
// Threads: any. Constant-initialised; the first call sets it up.
// Errors:  nullptr when memory is out.
// Cost:    see hoard_heaps.hpp and hoard_large.hpp. Destroying it gives back all but large blocks that are live.
// Source:  Hoard, section 3.4 and Figure 2.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/family/hoard_heaps.hpp>
#include <cairn/family/hoard_large.hpp>

#include <cstring>

namespace cairn {

template <class Design, PageSource Pages>
class HoardRouting {
public:
    using Superblock = typename Design::Superblock;
    using Classes = typename Design::Classes;

    constexpr HoardRouting() = default;
    HoardRouting(const HoardRouting &) = delete;
    HoardRouting &operator=(const HoardRouting &) = delete;
    ~HoardRouting() { heaps_.release(pages_); }

    void *malloc(std::size_t size) {
        return CAIRN_UNLIKELY(size > Classes::largest) ? large_.memalign(pages_, quantum, size) // line 1
                                                       : heaps_.malloc(pages_, Classes::class_of(size));
    }

    void free(void *p) {
        HoardHeader *const header = HoardHeader::of<Design::superblock>(p);
        if (CAIRN_UNLIKELY(header->is_large())) { // lines 1 and 2
            large_.free(pages_, header);
        } else {
            heaps_.free(static_cast<Superblock *>(header), p);
        }
    }

    std::size_t getSize(void *p) const {
        const HoardHeader *const header = HoardHeader::of<Design::superblock>(p);
        if (header->is_large()) {
            return large_.size_of(header, p);
        }
        const auto *const s = static_cast<const Superblock *>(header);
        return s->block_size - (address_of(p) - address_of(s->start_of(p)));
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (wanted <= quantum) {
            return malloc(size < wanted ? wanted : size);
        }
        size = size == 0 ? 1 : size; // so that the address is inside of the block
        if (wanted > Classes::largest || size > Classes::largest - (wanted - quantum)) {
            return large_.memalign(pages_, wanted, size);
        }
        void *const block = malloc(size + wanted - quantum); // at a multiple of the quantum
        return reinterpret_cast<void *>(align_up(address_of(block), wanted));
    }

    void *malloc_zeroed(std::size_t size) {
        void *const block = malloc(size);
        if (block != nullptr && size <= Classes::largest) { // fresh pages are zero
            std::memset(block, 0, size);
        }
        return block;
    }

    void lock_all() { heaps_.lock_all(); }
    void unlock_all(sync::AfterFork side) { heaps_.unlock_all(side); }

    void statistics(Statistics &out) {
        out = {};
        out.size_classes = Classes::count;
        for (unsigned c = 0; c < Classes::count; ++c) {
            out.by_class[c].block_size = static_cast<std::uint32_t>(Classes::size_of(c));
        }
        heaps_.report(out);
        out.small_resident = out.superblocks * Design::superblock;
        large_.report(out);
        out.mapped += out.huge_live;
    }

    /// f(heap) for heap 0 and then, from the first malloc on, heaps 1 to 2P.
    template <class F>
    void for_each_heap(F f) {
        heaps_.for_each(f);
    }

private:
    HoardHeaps<Design> heaps_;
    HoardLarge<Design::superblock> large_;
    [[no_unique_address]] Pages pages_;
};

} // namespace cairn
