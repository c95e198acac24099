// SPDX-License-Identifier: MIT
//
// MmapHeap: whole pages from the operating system, a mapping for each block.
//
// Adds:    malloc, free, memalign, malloc_zeroed (fresh pages are zero), getSize, owns, clear.
// Needs:   nothing below. The lengths of the mappings are kept in a MappingTable and not in a header: so blocks start
//          on a page, and a request of whole pages takes no additional page.
// Keeps:   blocks are page aligned; free of a pointer that is not a mapping of this heap ends the process; clear and
//          the destructor unmap all blocks, also live ones. Where the kernel allows no more mappings, so that it makes
//          no hole in one, the addresses of blocks between those of others stay in use, without pages.
// Threads: one at a time (for several, put a LockedHeap on it).
// Errors:  nullptr when the kernel refuses the mapping of the block or of the table.
// Cost:    a system call each way, a fault for each page touched, up to a page lost at a block's end.
// Source:  Heap Layers, Table 1: mmapHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/source/mapping_table.hpp>

namespace cairn {

class MmapHeap {
public:
    static constexpr std::size_t alignment = platform::smallest_page;

    MmapHeap() = default;
    MmapHeap(const MmapHeap &) = delete;
    MmapHeap &operator=(const MmapHeap &) = delete;
    ~MmapHeap() { clear(); }

    void *malloc(std::size_t size) { return memalign(alignment, size); }
    void *malloc_zeroed(std::size_t size) { return malloc(size); }

    void *memalign(std::size_t wanted, std::size_t size) {
        const std::size_t page = platform::vm::page_size();
        const std::size_t slack = wanted > page ? wanted - page : 0;
        if (size > max_size_ || slack > max_size_) {
            return nullptr;
        }
        const std::size_t length = align_up(size == 0 ? 1 : size, page);
        void *start = platform::vm::map(length + slack);
        if (start != nullptr && slack != 0) {
            start = trim(start, length, slack, wanted);
        }
        if (start != nullptr && !mappings_.put(start, length)) {
            platform::vm::unmap(start, length);
            start = nullptr;
        }
        return start;
    }

    void free(void *p) {
        const std::size_t length = mappings_.length_of(p);
        if (length == 0) {
            platform::fatal({"free of ", p, ", which is not a block of this MmapHeap"});
        }
        if (platform::vm::unmap(p, length)) {
            mappings_.remove(p);
        } else { // a hole in a mapping makes one mapping more, and the kernel allows no more: the pages are given
                 // back now, the addresses when the heap is cleared
            platform::vm::purge(p, length);
        }
    }

    std::size_t getSize(const void *p) const { return mappings_.length_of(p); }
    bool owns(const void *p) const { return mappings_.length_of(p) != 0; }

    void clear() {
        while (unmap_some()) {
        }
        mappings_.for_each([](void *start, std::size_t length) { platform::vm::purge(start, length); });
        mappings_.release();
    }

private:
    /// Unmaps adjacent blocks together: the kernel has merged them into one mapping, in which a block alone might be a
    /// hole. True if some are gone and others are not: to those the kernel may agree now, with fewer mappings.
    bool unmap_some() {
        bool gone = false, left = false;
        mappings_.for_each([&](void *start, std::size_t) {
            auto *const first = static_cast<char *>(start);
            char *end = first;
            while (const std::size_t length = mappings_.length_of(end)) {
                end += length;
            }
            if (!platform::vm::unmap(first, static_cast<std::size_t>(end - first))) {
                left = true;
                return;
            }
            gone = true;
            for (char *p = first; p != end;) {
                const std::size_t length = mappings_.length_of(p);
                mappings_.strike_out(p);
                p += length;
            }
        });
        return gone && left;
    }

    /// Unmaps all but the aligned `length` bytes in a mapping of length + slack.
    static void *trim(void *start, std::size_t length, std::size_t slack, std::size_t wanted) {
        const std::size_t before = align_up(address_of(start), wanted) - address_of(start);
        const std::size_t after = slack - before;
        char *const kept = static_cast<char *>(start) + before;
        const bool front_gone = before == 0 || platform::vm::unmap(start, before);
        const bool back_gone = after == 0 || platform::vm::unmap(kept + length, after);
        if (front_gone && back_gone) {
            return kept;
        }
        platform::vm::unmap(front_gone ? kept : start,
                            length + (front_gone ? 0 : before) + (back_gone ? 0 : after));
        return nullptr;
    }

    /// Larger requests are refused, so that rounding up and the slack of an alignment cannot overflow.
    static constexpr std::size_t max_size_ = SIZE_MAX / 4;

    MappingTable mappings_;
};

static_assert(SizedHeap<MmapHeap> && AlignedHeap<MmapHeap> && ZeroingHeap<MmapHeap> && OwningHeap<MmapHeap> &&
              ClearableHeap<MmapHeap>);

} // namespace cairn
