// SPDX-License-Identifier: MIT
//
// SmallOrMapped: a heap of superblocks for small blocks, mappings for large ones.
//
// Adds:    malloc, free, getSize, memalign, reallocate, malloc_zeroed, statistics.
// Needs:   Small: malloc, free, getSize and statistics of blocks of up to largest_small bytes, aligned to their size,
//          in superblocks as its Layout has them. Nothing below but the kernel.
// Keeps:   blocks are aligned to their size, up to the largest small one. Destroying the heap gives back all
//          superblocks, and no large block that is still live.
// Threads: any; lock-free if Small is.
// Errors:  nullptr when the kernel has no memory.
// Cost:    that of Small or of mapped_blocks.hpp, and a comparison.
// Source:  NBmalloc, sections 3 and 6.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/mapped_blocks.hpp>
#include <cairn/layer/move_block.hpp>

#include <algorithm>
#include <cstring>

namespace cairn::family {

template <class Small>
class SmallOrMapped {
public:
    static constexpr std::size_t alignment = Small::smallest;

    void *malloc(std::size_t size) {
        return CAIRN_LIKELY(size <= Small::largest_small) ? small_.malloc(size)
                                                          : large_.malloc(granule_, size);
    }

    void free(void *p) {
        if (CAIRN_UNLIKELY(Large::is_large(p))) {
            large_.free(p);
        } else {
            small_.free(p);
        }
    }

    static std::size_t getSize(const void *p) {
        return Large::is_large(p) ? Large::getSize(p) : Small::getSize(p);
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        const std::size_t both = std::max(wanted, size);
        return both <= Small::largest_small ? small_.malloc(both)
                                            : large_.malloc(std::max(wanted, granule_), size);
    }

    void *reallocate(void *p, std::size_t size) {
        const std::size_t room = getSize(p);
        const bool large = Large::is_large(p) && size > Small::largest_small;
        if (void *const same = large ? large_.reallocate(p, size) : nullptr) {
            return same;
        }
        return size <= room && size > room / 2 ? p : move_block(*this, p, room, size);
    }

    void *malloc_zeroed(std::size_t size) {
        void *const p = malloc(size);
        return p == nullptr || Large::is_large(p) ? p : std::memset(p, 0, size);
    }

    void statistics(Statistics &out) const {
        small_.statistics(out);
        out.huge_live = large_.live();
        out.huge_live_blocks = large_.blocks();
        out.mapped += out.huge_live;
        out.mapped_peak = out.mapped;
    }

    /// For tests, while no other thread is in the heap.
    Small &small() { return small_; }

private:
    static constexpr std::size_t granule_ = Small::Layout::segment;
    using Large = MappedBlocks<granule_>;

    Small small_;
    Large large_;
};

} // namespace cairn::family
