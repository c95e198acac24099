// SPDX-License-Identifier: MIT
//
// Long blocks: large and huge blocks, which are longer than the largest size class, or aligned to more than a slot.
//
// Adds:    the choice between runs of slots (LargeHeap) and mappings (HugeHeap).
// Needs:   both, and GlobalHeap.
// Keeps:   superblocks without live blocks and large runs that wait for their threads become free memory before a
//          large or huge block takes more memory.
// Threads: any.
// Errors:  nullptr when out of memory; a pointer that is not a block ends the program.
// Cost:    a lock for each call.
#pragma once

#include <cairn/run/huge_heap.hpp>
#include <cairn/run/large_heap.hpp>
#include <cairn/superblock/block_check.hpp>

namespace cairn {

template <class Global>
class LongBlocks {
public:
    using Found = superblock::Found;

    constexpr LongBlocks(Global &global, LargeHeap &large, HugeHeap &huge)
        : global_(global), large_(large), huge_(huge) {}

    /// Whether such a block may take memory that nothing has used yet, if malloc_used() has found none. A hint.
    bool may_grow(std::size_t size, std::size_t alignment) const {
        return !is_huge(size, alignment) || huge_.cached_bytes() < size;
    }

    /// The run that this thread has freed last, if it fits: for such a block memory does not grow. Else nullptr.
    void *malloc_spare(std::size_t size, std::size_t alignment, unsigned heap_number) {
        return large_.malloc_spare(size, alignment, heap_number);
    }

    /// A large block in dirty memory that lies free; nullptr if there is none, or for a huge block. Spare runs become
    /// free for it.
    void *malloc_used(std::size_t size, std::size_t alignment, unsigned heap_number = 0) {
        return is_huge(size, alignment) ? nullptr : large_.malloc_used(or_one(size), alignment, heap_number);
    }

    /// Whether no block can be so long or so aligned, whatever is free.
    static bool is_beyond_all(std::size_t size, std::size_t alignment) {
        return size > HugeHeap::largest || alignment > HugeHeap::largest;
    }

    /// A large or huge block. Sets `clean` if it reads as zero. `heap_number`: the number of the thread's heap; 0:
    /// none.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean, unsigned heap_number = 0) {
        if (void *const p = malloc_used(size, alignment, heap_number)) {
            return p;
        }
        size = or_one(size);
        const bool huge = is_huge(size, alignment);
        if (global_.stock().empty_bytes() != 0) {
            global_.make_room(SIZE_MAX);
        }
        void *p =
            huge ? huge_.malloc(size, alignment, clean) : large_.malloc(size, alignment, clean, heap_number);
        if (p == nullptr && (huge || huge_.give_up()) && size <= LargeHeap::longest &&
            alignment <= LargeHeap::largest_alignment) {
            p = large_.malloc(size, alignment, clean); // what a huge block can not get may lie free in runs
        }
        return p;
    }

    /// The usable bytes of a live block.
    std::size_t size_of(const Found &found, const void *p) const {
        if (found.kind == Found::large) {
            return LargeHeap::size_of(found.line);
        }
        const std::size_t size = huge_.size_of(p);
        if (size == 0) {
            superblock::invalid("size asked of", p,
                                "which is inside a huge block, not its start, or is a cairn_heap's");
        }
        return size;
    }

    /// The block of `before` bytes with a new size, without copying, where that is possible; else nullptr. A run for
    /// what fits into a superblock, or a mapping for what fits into a run, is used on if it is not much too long.
    void *resize(const Found &found, void *p, std::size_t before, std::size_t size) {
        const bool is_run = found.kind == Found::large;
        const std::size_t limit = is_run ? Global::SizeClasses::largest : LargeHeap::largest;
        if (size <= (size < before / 2 ? limit : limit / 2)) {
            return nullptr;
        }
        return !is_run ? huge_.reallocate(p, size) : large_.resize_in_place(found.line, size) ? p : nullptr;
    }

    /// Frees the block. Whether so much memory has become free that it is time to look for a surplus.
    CAIRN_INLINE bool free(const Found &found, void *p, unsigned heap_number = 0) {
        using Freed = LargeHeap::Freed;
        Freed freed = Freed::nothing;
        if (found.kind == Found::large) {
            freed = large_.free(found.line, heap_number);
        } else if (huge_.free(p)) {
            freed = Freed::run;
        }
        if (freed == Freed::nothing) {
            superblock::invalid("free of", p,
                                "which is free already or inside a block, or is a cairn_heap's");
        }
        return freed > Freed::kept;
    }

    /// Hides a live block of a cairn_heap, or shows it again: free, realloc and malloc_usable_size take a hidden
    /// block for no block.
    void set_hidden(const void *p, bool hidden) {
        if (const std::uintptr_t address = address_of(p); in_segment(address)) {
            Segment::of(address)->set_large_block(Segment::slot_of(address),
                                                  hidden ? Segment::hidden : Segment::live);
        } else {
            huge_.set_hidden(p, hidden);
        }
    }

private:
    /// A block of 0 bytes has an address of its own, too.
    static std::size_t or_one(std::size_t size) { return size + (size == 0); }
    static bool is_huge(std::size_t size, std::size_t alignment) {
        return size > LargeHeap::largest || alignment > LargeHeap::largest_alignment;
    }

    Global &global_;
    LargeHeap &large_;
    HugeHeap &huge_;
};

} // namespace cairn
