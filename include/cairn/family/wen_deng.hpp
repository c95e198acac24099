// SPDX-License-Identifier: MIT
//
// The allocator of Wen and Deng's report: Hoard with pages for superblocks, as the pseudo code of its section 1.2
// has it, line by line.
//
// Adds:    malloc, free, memalign, getSize, statistics; lock_all and unlock_all for forks.
// Needs:   Parameters (allocators/wen_deng.hpp); a source that goes on where it ended (wen_deng_pages.hpp); Links.
// Keeps:   what Heaps and RawBlocks keep. A block is at a multiple of its size with the header, so of 16 at least.
// Threads: any. Locks in the order superblock, heap i, global heap, back pointer or raw blocks.
// Errors:  nullptr.
// Cost:    malloc: a lock. free: three, the superblock's, the back pointer's and the heap's.
// Source:  Wen and Deng, "Implementing The Hoard Allocator", 2018, section 1.2.
#pragma once

#include <cairn/family/wen_deng_heaps.hpp>
#include <cairn/family/wen_deng_raw.hpp>

#include <algorithm>
#include <memory>

namespace cairn {

template <class Parameters, Heap Source, class Links>
class WenDengHeap {
    using Heaps = wen_deng::Heaps<Parameters, Links>;
    using HeapI = typename Heaps::Heap;
    using Superblock = typename Heaps::Superblock;
    using Raw = wen_deng::RawBlocks<Parameters, Source>;

public:
    using Classes = typename Superblock::Classes;
    static constexpr std::size_t alignment = quantum;

    constexpr WenDengHeap() = default;
    WenDengHeap(const WenDengHeap &) = delete;
    WenDengHeap &operator=(const WenDengHeap &) = delete;

    void *malloc(std::size_t size) {
        if (size > Classes::largest) { // line 2
            return raw_.malloc(size);
        }
        HeapI &heap = heaps_.of_this_thread();                       // line 3
        const sync::Guard guard(heap.lock);                          // lines 4 and 19
        const unsigned c = Classes::class_of(size);                  // line 5
        Superblock *s = heap.fullest_with_space(c);                  // line 6
        if (s == nullptr) {                                          // line 7
            s = heaps_.take_from_global_locked(c, heap);             // lines 8 and 11 to 16
            s = s != nullptr ? s : fresh_superblock_locked(c, heap); // lines 9 and 10
        }
        return s != nullptr ? heap.take_block(*s) : nullptr; // lines 17, 18 and 20
    }

    void free(void *block) {
        if (Raw::is_raw(block)) { // line 2
            raw_.free(block);
            return;
        }
        Superblock &s = *reinterpret_cast<Superblock *>(wen_deng::header_of(block));
        const sync::Guard guard(s.mutex);       // lines 3 and 14
        HeapI &heap = Heaps::lock_owner(s);     // line 4
        heap.put_block(s, block);               // lines 5 to 7
        if (!heaps_.is_global(heap)) {          // line 8
            heaps_.keep_emptiness_locked(heap); // lines 9 to 13
        }
        heap.lock.unlock(); // line 14
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (size > Classes::largest || wanted > Parameters::superblock_size / 2) {
            return raw_.memalign(wanted, size);
        }
        // The block of the class that is as large as the alignment is aligned.
        return malloc(std::max(size, std::max(wanted, quantum) - sizeof(wen_deng::Header)));
    }

    std::size_t getSize(const void *block) const {
        const std::size_t whole =
            Raw::is_raw(block)
                ? Raw::size_of(block)
                : reinterpret_cast<const Superblock *>(wen_deng::header_of(block))->block_size();
        return whole - sizeof(wen_deng::Header);
    }

    void statistics(Statistics &out) {
        out = {};
        out.size_classes = Classes::count;
        for (unsigned c = 0; c < Classes::count; ++c) {
            out.by_class[c].block_size = static_cast<std::uint32_t>(Classes::block_of(c));
        }
        heaps_.statistics(out);
        raw_.statistics(out);
    }

    /// For tests: every u_i, a_i, s.u, owner and order is right.
    bool consistent() { return heaps_.consistent(); }

    void lock_all() {
        heaps_.lock_all();
        raw_.lock.hold_across_fork();
    }

    void unlock_all(sync::AfterFork side) {
        raw_.lock.let_go_after_fork();
        heaps_.unlock_all(side);
    }

private:
    /// malloc, lines 9 and 10. The line that the pseudo code leaves out, a_i = a_i + S, is in add.
    Superblock *fresh_superblock_locked(unsigned c, HeapI &heap) {
        char *page = nullptr;
        void *record = nullptr;
        if (!raw_.make_superblock(Superblock::record_size(c), page, record)) {
            return nullptr;
        }
        auto *const s = std::construct_at(static_cast<Superblock *>(record), c, page, &heap);
        heap.add(*s);
        return s;
    }

    Heaps heaps_;
    Raw raw_;
};

} // namespace cairn
