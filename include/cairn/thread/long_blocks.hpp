// SPDX-License-Identifier: MIT
//
// Long blocks: those of more bytes than the largest size class, or aligned to more than a slot.
//
// Adds:    the choice between runs of slots (LargeHeap) and mappings (HugeHeap).
// Needs:   both, and GlobalHeap.
// Keeps:   what lies free in empty superblocks and in long runs that wait is given back before a long block takes more memory.
// Threads: any.
// Errors:  nullptr when out of memory; a pointer that is no block ends the program.
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

    /// Whether memory that was used before lies free for such a block. A hint: others take memory too.
    bool is_there(std::size_t size, std::size_t alignment) {
        return is_huge(size, alignment) ? huge_.cached_bytes() >= size
                                        : large_.make_fit_used_run(size, alignment);
    }

    /// What this thread has freed last, if that will do: for such a block nothing grows. Else nullptr.
    void *malloc_spare(std::size_t size, std::size_t alignment, unsigned who) {
        return large_.malloc_spare(size, alignment, who);
    }

    /// Whether there is no such block, whatever lies free.
    static bool is_beyond_all(std::size_t size, std::size_t alignment) {
        return size > HugeHeap::largest || alignment > HugeHeap::largest;
    }

    /// `who`: a number of the thread; 0: none.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean, unsigned who = 0) {
        size += size == 0; // a block of no bytes has an address of its own too
        const bool huge = is_huge(size, alignment);
        const bool keeps = global_.stock().empty_bytes() != 0 || large_.spares() != 0;
        if (keeps && (huge || !large_.make_fit_used_run(size, alignment))) {
            global_.make_room(SIZE_MAX);
        }
        void *p = huge ? huge_.malloc(size, alignment, clean) : large_.malloc(size, alignment, clean, who);
        if (p == nullptr && (huge || huge_.give_up()) && size <= LargeHeap::longest &&
            alignment <= LargeHeap::largest_alignment) {
            p = large_.malloc(size, alignment, clean); // what a huge block can not get may lie free in runs
        }
        return p;
    }

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

    /// A long block with a new size without copying, where that is possible; else nullptr.
    void *resize(const Found &found, void *p, std::size_t size) {
        if (found.kind == Found::large) {
            return size > Global::SizeClasses::largest && large_.resize_in_place(found.line, size) ? p
                                                                                                   : nullptr;
        }
        return size > LargeHeap::largest ? huge_.reallocate(p, size) : nullptr;
    }

    /// Whether so much memory has become free by it that it is time to ask for a surplus.
    CAIRN_INLINE bool free(const Found &found, void *p, unsigned who = 0) {
        using Freed = LargeHeap::Freed;
        Freed freed = Freed::nothing;
        if (found.kind == Found::large) {
            freed = large_.free(found.line, who);
        } else if (huge_.free(p)) {
            freed = Freed::run;
        }
        if (freed == Freed::nothing) {
            superblock::invalid("free of", p,
                                "which is free already or inside a block, or is a cairn_heap's");
        }
        return freed > Freed::kept;
    }

    /// A live block of whoever hides it: until it is shown again, free, realloc and questions for its size take it for no block.
    void set_hidden(const void *p, bool hidden) {
        if (const std::uintptr_t address = address_of(p); in_segment(address)) {
            Segment::of(address)->set_large_block(Segment::slot_of(address),
                                                  hidden ? Segment::hidden : Segment::live);
        } else {
            huge_.set_hidden(p, hidden);
        }
    }

private:
    static bool is_huge(std::size_t size, std::size_t alignment) {
        return size > LargeHeap::largest || alignment > LargeHeap::largest_alignment;
    }

    Global &global_;
    LargeHeap &large_;
    HugeHeap &huge_;
};

} // namespace cairn
