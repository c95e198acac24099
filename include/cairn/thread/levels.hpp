// SPDX-License-Identifier: MIT
//
// Levels: everything of an allocator that its threads share, from the operating system up to the registry of thread
// heaps.
//
// Adds:    what concerns several levels: growth, purging, statistics, the repair after a fork.
// Needs:   RunHeap, LargeHeap, HugeHeap, GlobalHeap, HeapRegistry.
// Keeps:   free memory of one level goes back before another level takes more (PurgingRuns, HugeHeap::make_room).
// Threads: any; repair_after_fork in the child, which has one thread.
// Errors:  nullptr when out of memory.
// Cost:    a lock for each call.
#pragma once

#include <cairn/superblock/for_each.hpp>
#include <cairn/thread/heap_visits.hpp>
#include <cairn/thread/long_blocks.hpp>

namespace cairn {

template <class Classes, class Discipline>
class Levels {
public:
    using Global = GlobalHeap<Classes, Discipline>;
    using Heap = ThreadHeap<Global>;

    /// Growth by so much, in small steps or at once, makes the process look for free memory.
    static constexpr std::size_t growth_step = 1_MiB;

    constexpr Levels() = default;

    /// A heap for the calling thread, or for_all threads that can have none of their own (HeapRegistry::open).
    Heap *open(Heap *wanted = nullptr, bool for_all = false) {
        global_.maker().seed(platform::secret());
        return registry_.open(global_, runs_, wanted, for_all);
    }
    /// The heap's thread ends, or has ended: gives back its chains, hands over its superblocks, and keeps the heap for
    /// another thread.
    void close(Heap *heap) {
        tell_all(registry_, global_, heap->give_gathered());
        heap->hand_over();
        registry_.close(heap);
    }
    HeapRegistry<Global> &registry() { return registry_; }
    Global &global() { return global_; }
    RunHeap &runs() { return runs_; }
    LongBlocks<Global> &long_blocks() { return long_blocks_; }

    /// Whether a block of a growth step or more, for which malloc_used() has found no memory, would take more from the
    /// operating system than was ever taken. A hint.
    bool would_grow(std::size_t size, std::size_t alignment) {
        return size >= growth_step && long_blocks_.may_grow(size, alignment) && runs_.would_grow(size);
    }

    /// To call after each slow malloc, without a lock. Where touched memory has grown by a slot, may visit heaps; true
    /// where it has grown by a growth step. `mine`: the calling thread's heap.
    CAIRN_INLINE bool after_growth(const void *mine = nullptr) {
        const std::size_t growth = runs_.line().total(), seen = seen_growth_.load(std::memory_order_relaxed);
        return CAIRN_UNLIKELY(growth >= seen + slot_size) && after_growth_to(growth, mine);
    }

    /// The next slow malloc is to find that touched memory has grown, by a growth step.
    void look_again() { seen_growth_.store(0 - slot_size, std::memory_order_relaxed); }

    /// Whether a thread has gathered the block, to give it back with others.
    bool is_gathered(const OwnerLine *s, std::uintptr_t block) {
        for (Heap *heap = registry_.first(); heap != nullptr; heap = heap->next) {
            if (heap->gathering().holds(s, block)) {
                return true;
            }
        }
        return false;
    }

    /// To call before fresh memory is taken: visits a heap. If true, there may be free memory now.
    bool visit_wanted(const void *mine) { return cairn::visit_wanted(registry_, global_, mine); }

    /// Retires all heaps, also those whose threads are active. False if some were refused.
    bool retire_heaps() { return retire_all(registry_); }

    /// Out of memory: gives up what the heaps of huge blocks and of runs keep for later, and address space. Whether
    /// there was any.
    bool give_up_caches() {
        const std::size_t kept = global_.stock().empty_bytes() + large_.give_up_spares();
        global_.make_room(SIZE_MAX);
        const bool some = huge_.give_up();
        return runs_.give_up() || some || kept != 0;
    }

    /// Gives all free memory but `keep` bytes back to the operating system. Returns how much.
    std::size_t trim(std::size_t keep) {
        global_.make_room(SIZE_MAX);
        large_.give_up_spares();
        return huge_.flush() + runs_.purge(keep);
    }

    /// Whether a heap is active, or other threads have freed much in an inactive one: retire_inactive() has, or will
    /// have, work.
    bool has_heaps_to_check() { return registry_.heaps_to_check() != 0; }

    /// One tick of the purge clock. retire_inactive: retires inactive heaps, twice, since the first round may return
    /// blocks to superblocks of heaps that it has passed. purge_idle: gives back what was free since the last tick, but
    /// for `keep` bytes.
    void retire_inactive() {
        retire_inactive_heaps(registry_, registry_.heaps_to_check());
        retire_inactive_heaps(registry_, registry_.heaps_to_check());
    }
    void purge_idle(std::size_t keep) {
        large_.give_up_spares();
        global_.make_room(SIZE_MAX);
        huge_.purge_idle();
        runs_.purge_idle(keep);
    }

    /// Bytes that are free and resident.
    std::size_t surplus_bytes() const {
        return global_.free_bytes() + large_.spares() + huge_.cached_bytes();
    }

    /// Whether surplus_bytes() exceeds `bytes`. `heap_number`: the asking thread's heap number; its own stripe of runs
    /// is asked first.
    bool has_surplus(std::size_t bytes, unsigned heap_number) const {
        return runs_.stripes().dirty_bytes(RunHeap::home_of(heap_number)) > bytes || surplus_bytes() > bytes;
    }
    /// Free bytes that could not be purged.
    std::size_t refused_bytes() const { return runs_.stripes().refused_bytes(); }
    void forget_refused() { runs_.forget_refused(); }

    /// An upper limit of the resident bytes, without metadata.
    std::size_t resident_bytes() {
        return runs_.resident_bytes() + huge_.live_bytes() + huge_.cached_bytes();
    }

    void statistics(Statistics &out) {
        out = {};
        superblock::statistics<Classes>(runs_, out);
        runs_.statistics(out);
        large_.statistics(out);
        huge_.statistics(out);
        const typename Global::Counters moved = global_.counters();
        out.superblocks_to_global = moved.to_global;
        out.superblocks_from_global = moved.from_global;
        out.superblocks_fresh = global_.maker().made();
        registry_.statistics(out);
    }

    /// In the child of a fork of a process in which other threads had heaps, and may have stopped anywhere. The
    /// descriptors are the truth: locks and lists are made again from them. `survivor`: the heap of the child's thread;
    /// superblocks of all others become orphans.
    void repair_after_fork(Heap *survivor) {
        huge_.repair_after_fork();
        global_.reset_after_fork();
        survivor = registry_.repair_after_fork(survivor);
        large_.repair_after_fork();
        runs_.repair_after_fork(huge_.mapped_bytes());
        superblock::for_each(runs_, [&](OwnerLine *s) {
            runs_.untouch(span_of(s) - s->touched);
            const void *const owner = shared_of(s)->owner.load(std::memory_order_relaxed); // relaxed: alone
            if (survivor == nullptr || Global::Notice::heap_of(owner) != survivor) {
                global_.orphan(s);
            } else {
                survivor->holdings().take_notice(s); // in the parent a notice may have been on its way
            }
        });
    }

private:
    CAIRN_NOINLINE bool after_growth_to(std::size_t growth, const void *mine) {
        const std::size_t seen = seen_growth_.exchange(growth, std::memory_order_relaxed);
        large_.give_up_long_spares();
        growth_visits_.after_growth(runs_.line(), registry_, global_, mine);
        if (growth / growth_step == seen / growth_step) {
            return false;
        }
        huge_.pay_for_runs(growth);
        retire_inactive_heaps(registry_, growth_looks_);
        return true;
    }
    static constexpr unsigned growth_looks_ = 16; ///< heaps to look at for each growth step
    RunHeap runs_;
    Global global_{runs_};
    LargeHeap large_{runs_};
    HugeHeap huge_{runs_};
    LongBlocks<Global> long_blocks_{global_, large_, huge_};
    HeapRegistry<Global> registry_;
    GrowthVisits growth_visits_;
    std::atomic<std::size_t> seen_growth_{0}; ///< relaxed: a hint; a step more or less does no harm
};

} // namespace cairn
