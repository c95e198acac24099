// SPDX-License-Identifier: MIT
//
// Mapped blocks: large blocks, a mapping each.
//
// Adds:    malloc with an alignment, free, reallocate, getSize; totals.
// Needs:   alignments that are multiples of Granule, a power of two.
// Keeps:   a large block is at a multiple of Granule, where no block of a superblock ever is: so the address alone says
//          what it is. The page before it has the mapping's extent.
// Threads: any; nothing is shared but the totals.
// Errors:  nullptr when the kernel has no memory, or for what no kernel has.
// Cost:    a system call, up to four where there is no room beside the last block, and one to free; a fault for each
//          page; a page for the extent.
// Source:  NBmalloc, section 6: blocks of more than 32 KiB come from the operating system.
#pragma once

#include <cairn/family/segments.hpp>
#include <cairn/platform/fatal.hpp>

#include <algorithm>

namespace cairn::family {

template <std::size_t Granule>
class MappedBlocks {
public:
    static bool is_large(const void *p) { return is_aligned(p, Granule); }

    void *malloc(std::size_t alignment, std::size_t size) {
        if (size > most_ || alignment > most_) {
            return nullptr;
        }
        const std::size_t page = platform::vm::page_size();
        const std::size_t bytes = align_up(size == 0 ? 1 : size, page);
        AlignedMapping mapping = beside(page, bytes);
        if (mapping.aligned == nullptr || !is_aligned(mapping.aligned, alignment)) {
            mapping.discard();
            mapping = AlignedMapping::make(std::max(alignment, Granule), page, bytes);
        }
        if (mapping.aligned == nullptr) {
            return nullptr;
        }
        hint_.store(address_of(mapping.start), std::memory_order_relaxed); // see beside()
        // acquire: pairs with the release in free() of who had these addresses before. The kernel orders it too, but
        // says so to nobody.
        live_.fetch_add(bytes, std::memory_order_acquire);
        blocks_.fetch_add(1, std::memory_order_relaxed); // relaxed: a counter
        *extent(mapping.aligned) = {mapping.start, mapping.length, bytes};
        return mapping.aligned;
    }

    void free(void *p) {
        const Extent was = *extent(p);
        if constexpr (platform::checked) {
            if (was.start > p || was.bytes == 0) {
                platform::fatal({"free of ", p, ", which is not a block"});
            }
        }
        blocks_.fetch_sub(1, std::memory_order_relaxed);       // relaxed: a counter
        live_.fetch_sub(was.bytes, std::memory_order_release); // pairs with the acquire in malloc()
        if (platform::vm::unmap(was.start, was.length)) {
            hint_.store(address_of(was.start) + was.length, std::memory_order_relaxed); // see beside()
        } else { // it would take one mapping more than the kernel allows
            platform::vm::purge(was.start, was.length);
        }
    }

    /// Longer or shorter, here or elsewhere, without copying. nullptr: the kernel would not, p is as it was.
    void *reallocate(void *p, std::size_t size) {
        const Extent was = *extent(p);
        const std::size_t page = platform::vm::page_size();
        char *const head = static_cast<char *>(p) - page;
        if (size > most_ || was.start != head || was.length != page + was.bytes) {
            return nullptr; // for what no kernel has, or if there is more to the mapping
        }
        const std::size_t bytes = align_up(size == 0 ? 1 : size, page);
        live_.fetch_sub(was.bytes, std::memory_order_release); // as in free()
        AlignedMapping now{head, page + bytes, static_cast<char *>(p)};
        if (!platform::vm::resize_in_place(head, was.length, page + bytes)) {
            now = AlignedMapping::make(Granule, page, bytes);
            if (now.aligned == nullptr ||
                !platform::vm::move(head, was.length, now.aligned - page, page + bytes)) {
                now.discard();
                live_.fetch_add(was.bytes, std::memory_order_relaxed); // nothing was got
                return nullptr;
            }
        }
        live_.fetch_add(bytes, std::memory_order_acquire); // as in malloc()
        *extent(now.aligned) = {now.start, now.length, bytes};
        return now.aligned;
    }

    static std::size_t getSize(const void *p) { return extent(p)->bytes; }

    // relaxed: counters.
    std::size_t live() const { return live_.load(std::memory_order_relaxed); }
    std::size_t blocks() const { return blocks_.load(std::memory_order_relaxed); }

private:
    struct Extent {
        char *start;
        std::size_t length;
        std::size_t bytes;
    };

    /// Room is left for rounding up, and for an alignment.
    static constexpr std::size_t most_ = SIZE_MAX / 8;

    static Extent *extent(const void *p) {
        return reinterpret_cast<Extent *>(address_of(p) - platform::vm::page_size());
    }

    /// Right below the last block, or where the last freed one was: most often there is room, and nothing to cut off.
    AlignedMapping beside(std::size_t page, std::size_t bytes) {
        // relaxed: any address will do, the kernel says whether it is free.
        const std::uintptr_t end = hint_.load(std::memory_order_relaxed);
        if (end / 2 < bytes + page + Granule) {
            return {};
        }
        auto *const block = reinterpret_cast<char *>(align_down(end - bytes, Granule));
        void *const start = platform::vm::map_at(block - page, page + bytes);
        return start == nullptr ? AlignedMapping{} : AlignedMapping{block - page, page + bytes, block};
    }

    std::atomic<std::uintptr_t> hint_{0};
    std::atomic<std::size_t> live_{0};
    std::atomic<std::size_t> blocks_{0};
};

} // namespace cairn::family
