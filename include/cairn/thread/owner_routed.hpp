// SPDX-License-Identifier: MIT
//
// Owner-routed heap: gives each thread a heap of its own, routes each size to the level that serves it, and
// each freed pointer back to the superblock or run that it came from, after checking that it came from there.
//
// Adds:    the whole heap interface (malloc, free, getSize, memalign, reallocate, malloc_zeroed).
// Needs:   RunHeap, LargeHeap, HugeHeap, GlobalHeap, ThreadHeap; a `Life` that hears of threads and of free
//          memory.
// Keeps:   a pointer that malloc did not return, or that is free already, stops the program with one line.
// Threads: any. A thread that can have no heap of its own shares one, under its lock.
// Errors:  nullptr when out of memory; errno is the business of the C interface.
// Cost:    malloc and the owner's free: no lock, no atomic read-modify-write; a remote free: one
//          compare-exchange.
// Source:  Hoard, section 3: blocks return to the superblock they came from.
#pragma once

#include <cairn/run/huge_heap.hpp>
#include <cairn/run/large_heap.hpp>
#include <cairn/superblock/block_check.hpp>
#include <cairn/superblock/for_each.hpp>
#include <cairn/superblock/recount.hpp>
#include <cairn/superblock/remote_free.hpp>
#include <cairn/thread/heap_registry.hpp>

#include <cstring>

namespace cairn {

/// `Life::attached()` is called when a thread got its heap, `Life::surplus()` when free memory lies about in
/// quantity.
template <class Classes, class Discipline, unsigned MediumSlots, class Life>
class OwnerRouted {
public:
    using SizeClasses = Classes;
    using Emptiness = Discipline;
    using Global = GlobalHeap<Classes, Discipline>;
    using Heap = ThreadHeap<Global>;
    static constexpr unsigned medium_slots = MediumSlots;
    static_assert(Classes::largest * 8 <= MediumSlots * slot_size && is_power_of_two(MediumSlots));

    constexpr OwnerRouted() = default;

    CAIRN_INLINE void *malloc(std::size_t size) {
        void *const p = try_malloc(size);
        return CAIRN_LIKELY(p != nullptr) ? p : malloc_slow(size);
    }

    /// The two halves of malloc, for callers that make the second one a tail call.
    CAIRN_INLINE void *try_malloc(std::size_t size) {
        return CAIRN_LIKELY(size <= Classes::table_limit) ? mine_->try_malloc_small(size) : nullptr;
    }
    CAIRN_NOINLINE void *malloc_slow(std::size_t size) {
        if (size <= Classes::largest) {
            return malloc_of_class(Classes::class_of(size));
        }
        bool clean = false;
        return malloc_long(size, 1, clean);
    }

    CAIRN_INLINE void free(void *p) {
        const std::uintptr_t block = address_of(p);
        if (CAIRN_LIKELY(WindowMap::kind(block) == WindowKind::segment)) {
            SharedLine *const shared = shared_line_at(block);
            Heap *const heap = mine_;
            if (CAIRN_LIKELY(shared->owner.load(std::memory_order_relaxed) == heap &&
                             superblock::is_block_start(shared, block % slot_size) &&
                             !superblock::looks_free(block, shared->cookie, slot_size))) {
                OwnerLine *const s = owner_line_of(shared);
                if (CAIRN_UNLIKELY(heap->free_local(s, block))) {
                    return look_at(heap, s);
                }
                return;
            }
        }
        free_slow(p);
    }

    /// Zeroed memory; what the kernel has just cleared is not cleared again.
    void *malloc_zeroed(std::size_t size) {
        if (size > Classes::largest) {
            bool clean = false;
            void *p = malloc_long(size, 1, clean);
            if (p != nullptr && !clean) {
                std::memset(p, 0, size);
            }
            return p;
        }
        void *p = malloc(size);
        if (CAIRN_LIKELY(p != nullptr)) {
            std::memset(p, 0, size);
        }
        return p;
    }

    /// `alignment` is a power of two.
    void *memalign(std::size_t alignment, std::size_t size) {
        if (serves_from_superblock(size, alignment)) {
            return malloc_of_class(aligned_class(size, alignment));
        }
        bool clean = false;
        return malloc_long(size, alignment, clean);
    }

    /// Usable bytes of a live block.
    std::size_t getSize(const void *p) {
        const Found found = find(p, "use of");
        switch (found.kind) {
        case Found::block:
            superblock::check_live(found.line, p, "use of");
            return shared_of(found.line)->block_size;
        case Found::large:
            return LargeHeap::size_of(found.line);
        case Found::huge:
            return huge_size(p);
        }
        return 0;
    }

    /// A block of `size` with the old one's contents, in place where that is possible; nullptr, and the old
    /// one is untouched, when out of memory. p is a live block.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t before = getSize(p);
        if (size <= before && size >= before / 2) {
            return p;
        }
        const Found found = find(p, "realloc of");
        if (found.kind == Found::large && size > Classes::largest &&
            large_.resize_in_place(found.line, size)) {
            return p;
        }
        if (found.kind == Found::huge && size > LargeHeap::largest) {
            if (void *moved = huge_.reallocate(p, size)) {
                return moved;
            }
        }
        void *const to = malloc(size);
        if (to != nullptr) {
            std::memcpy(to, p, size < before ? size : before);
            free(p);
        }
        return to;
    }

    /// The calling thread ends: its heap goes to the next one.
    void detach() {
        Heap *const heap = mine_;
        if (heap != &nobody_) {
            mine_ = &nobody_;
            heap->hand_over();
            registry_.close(heap);
        }
    }

    /// Gives free memory back to the operating system now. Bytes given back.
    std::size_t trim(std::size_t keep) {
        if (mine_ != &nobody_) {
            mine_->settle();
        }
        return huge_.flush() + runs_.purge(keep);
    }

    /// One tick of the purge clock.
    void purge_idle(std::size_t keep) {
        huge_.purge_idle();
        runs_.purge_idle(keep);
    }

    std::size_t surplus_bytes() const { return runs_.dirty_bytes() + huge_.cached_bytes(); }
    void set_surplus_limit(std::size_t bytes) { surplus_limit_.store(bytes, std::memory_order_relaxed); }

    void statistics(Statistics &out) {
        out = {};
        superblock::statistics<Classes>(runs_, out);
        runs_.statistics(out);
        large_.statistics(out);
        huge_.statistics(out);
        const typename Global::Counters moved = global_.counters();
        out.superblocks_to_global = moved.to_global;
        out.superblocks_from_global = moved.from_global;
        out.superblocks_fresh = moved.fresh;
        out.heaps = registry_.in_use();
        out.heaps_peak = registry_.peak();
        out.metadata += registry_.memory();
    }

    /// In the child of a fork of a process in which other threads had heaps: each of them may have stopped
    /// anywhere. The descriptors are the truth; locks and lists are made anew from them, and superblocks of
    /// threads that are not there go to the global heap.
    void repair_after_fork() {
        Heap *const survivor = mine_ != &nobody_ ? mine_ : nullptr;
        shared_guard_.reset_after_fork();
        shared_heap_ = nullptr;
        huge_.repair_after_fork();
        registry_.repair_after_fork(survivor);
        global_.reset_after_fork();
        runs_.repair_after_fork();
        superblock::for_each(runs_, [&](OwnerLine *s) {
            const void *const owner = shared_of(s)->owner.load(std::memory_order_relaxed);
            if (survivor == nullptr || owner != Global::mark_owner(s, survivor)) {
                superblock::recount(s);
                global_.adopt(s);
            }
        });
    }

    /// Heaps of their own, for the first-class heaps of the C interface: used under `guard()`.
    Heap *open_heap() {
        start();
        return registry_.open(global_);
    }
    void close_heap(Heap *heap) {
        heap->free_all();
        registry_.close(heap);
    }
    void *malloc_in(Heap *heap, std::size_t size, std::size_t alignment) {
        sync::Guard hold(heap->guard());
        return heap->malloc_class(aligned_class(size, alignment));
    }
    void free_in(Heap *heap, void *p) {
        sync::Guard hold(heap->guard());
        free_checked(p, heap);
    }
    static constexpr bool serves_from_superblock(std::size_t size, std::size_t alignment) {
        return alignment <= slot_size && (size > alignment ? size : alignment) <= Classes::largest;
    }

    /// Whether no thread but the caller can be in the middle of something here.
    bool only_one_heap() const { return registry_.in_use() <= 1; }

private:
    using Found = superblock::Found;

    /// The smallest class whose blocks are all aligned: superblocks are aligned to their length.
    static unsigned aligned_class(std::size_t size, std::size_t alignment) {
        unsigned c = Classes::class_of(size > alignment ? size : alignment);
        while (Classes::size_of(c) % alignment != 0) {
            ++c; // ends at the latest at a power of two
        }
        return c;
    }

    CAIRN_COLD void look_at(Heap *heap, OwnerLine *s) {
        heap->look_at(s);
        note_surplus();
    }

    void note_surplus() {
        if (surplus_bytes() > surplus_limit_.load(std::memory_order_relaxed)) {
            Life::surplus();
        }
    }

    void *malloc_of_class(unsigned c) {
        if (Heap *heap = attach()) {
            return heap->malloc_class(c);
        }
        sync::Guard hold(shared_guard_);
        if (shared_heap_ == nullptr && (shared_heap_ = registry_.open(global_)) == nullptr) {
            return nullptr;
        }
        return shared_heap_->malloc_class(c);
    }

    void *malloc_long(std::size_t size, std::size_t alignment, bool &clean) {
        return size <= LargeHeap::largest && alignment <= LargeHeap::largest
                   ? large_.malloc(size, alignment, clean)
                   : huge_.malloc(size, alignment, clean);
    }

    /// The calling thread's heap, which it gets here if it has none; nullptr if it can not have one.
    Heap *attach() {
        if (CAIRN_LIKELY(mine_ != &nobody_)) {
            return mine_;
        }
        start();
        Heap *const heap = registry_.open(global_);
        if (heap == nullptr) {
            return nullptr;
        }
        mine_ = heap;
        if (!Life::attached()) { // nobody would tell us of the thread's end
            mine_ = &nobody_;
            heap->hand_over();
            registry_.close(heap);
            return nullptr;
        }
        return heap;
    }

    void start() { global_.seed(platform::secret()); }

    static Found find(const void *p, const char *what) { return superblock::find(p, MediumSlots, what); }

    std::size_t huge_size(const void *p) {
        const std::size_t size = huge_.size_of(p);
        if (size == 0) {
            superblock::invalid("use of", p, "which is inside a huge block, not its start");
        }
        return size;
    }

    CAIRN_NOINLINE void free_slow(void *p) {
        if (p != nullptr) {
            free_checked(p, mine_);
        }
    }

    /// Frees for `heap`: its own superblocks directly, others' as remote frees.
    void free_checked(void *p, Heap *heap) {
        const Found found = find(p, "free of");
        if (found.kind == Found::block) {
            superblock::check_live(found.line, p, "free of");
            SharedLine *const shared = shared_of(found.line);
            const std::uintptr_t block = address_of(p);
            if (shared->owner.load(std::memory_order_relaxed) == Global::mark_owner(found.line, heap)) {
                if (heap->free_local(found.line, block)) {
                    heap->look_at(found.line);
                }
            } else {
                PendingSuperblocks *const told =
                    superblock::free_remote(global_, shared, memory_of(found.line), block);
                if (told != nullptr && told->idle()) {
                    registry_.tend(*told);
                }
            }
        } else if (found.kind == Found::large ? !large_.free(found.line) : !huge_.free(p)) {
            superblock::invalid("free of", p, "which is free already or inside a block");
        }
        note_surplus();
    }

    static inline constinit Heap nobody_{};
    static inline thread_local constinit Heap *mine_ __attribute__((tls_model("initial-exec"))) = &nobody_;

    RunHeap runs_{this};
    Global global_{runs_, MediumSlots};
    LargeHeap large_{runs_};
    HugeHeap huge_{runs_};
    HeapRegistry<Global> registry_;
    sync::Lock shared_guard_{sync::Rank::thread_heap};
    Heap *shared_heap_ = nullptr;
    std::atomic<std::size_t> surplus_limit_{SIZE_MAX};
};

} // namespace cairn
