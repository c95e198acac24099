// SPDX-License-Identifier: MIT
//
// CheckHeap: watches the border between two layers, or between a heap and its program, for what must not happen there.
//
// Adds:    the faults of finding.hpp are found: frees of what is no block, or no more; blocks that the heap below hands
//          out while they are live, or that overlap live ones, or are misaligned or not zero; writes behind a block's
//          end and into freed blocks; leaks, if the policy asks for them. check() looks at all blocks at once.
// Needs:   a heap, of which it has all capabilities. Both sides of SameSizeRecord need a check, or none.
// Keeps:   every block has a guard behind it, looked at when it is freed. Freed blocks of up to 64 KiB are filled, and
//          go below when Held more were freed: until then nobody may write there. The table of blocks is mapped apart
//          from the heap; nothing here calls malloc.
// Threads: those of the heap below. clear, check and the destructor: one.
// Errors:  those of the heap below; nullptr also when the table has no memory. Before that, what is held is given back,
//          but not before an exception.
// Cost:    16 bytes a block and what is held; filling and looking; a lock that all threads meet at. For finding faults.
// Source:  Heap Layers, section 7 and Figure 8: DebugHeap, which has neither guards nor looks for overlaps.
#pragma once

#include <cairn/debug/border.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

template <Heap Super, FaultPolicy Policy = StopAtFault, std::size_t Held = 64,
          LockType L = RankedLock<sync::Rank::debug>>
class CheckHeap {
    using Tail = debug::Tail<Super>;
    using Contents = debug::Contents;

public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    using SizeRecord = typename Tail::Record;

    void *malloc(std::size_t size) {
        return border_.take(size, alignment, Contents::any,
                            [this](std::size_t n) { return below().malloc(n); });
    }

    void free(void *p) {
        if (!of_c_ || p != nullptr) {
            border_.give(p);
        }
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return border_.take(size, wanted, Contents::any,
                            [&](std::size_t n) { return below().memalign(wanted, n); });
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return border_.take(size, alignment, Contents::zero,
                            [this](std::size_t n) { return below().malloc_zeroed(n); });
    }

    void *calloc(std::size_t count, std::size_t size)
        requires ArrayHeap<Super>
    {
        std::size_t bytes = 0;
        return __builtin_mul_overflow(count, size, &bytes)
                   ? nullptr
                   : border_.take(bytes, alignment, Contents::zero,
                                  [this](std::size_t n) { return below().calloc(1, n); });
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        if (of_c_ && p == nullptr) {
            return malloc(size);
        }
        if (of_c_ && size == 0) {
            border_.give(p);
            return nullptr;
        }
        return border_.resize(p, size);
    }

    std::size_t getSize(void *p) const
        requires(SizedHeap<Super> && !SelfSizedHeap<Super>)
    {
        return border_.size_of(p);
    }

    static std::size_t getSize(void *p)
        requires SelfSizedHeap<Super>
    {
        const std::size_t size = Tail::size_of(p);
        if (size > Tail::most) {
            Policy::found({Fault::invalid_use, p});
            return 0;
        }
        return size;
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return border_.heap.owns(p);
    }

    std::size_t remaining() const
        requires BoundedHeap<Super>
    {
        const std::size_t all = border_.heap.remaining();
        return all > Tail::least ? all - Tail::least : 0;
    }

    void clear()
        requires ClearableHeap<Super>
    {
        check();
        below().clear();
        border_.forget();
    }

    bool is_live(const void *p) const { return border_.is_live(p); }

    /// Looks at all blocks, live ones and held ones.
    void check() const { border_.look(); }

    void lock_all() { border_.lock_all(); }
    void unlock_all(sync::AfterFork side) { border_.unlock_all(side); }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        below().begin_in_child();
    }

private:
    /// Null pointers and sizes of 0 mean what they mean in C; elsewhere they are faults.
    static constexpr bool of_c_ = ReallocatingHeap<Super> && ArrayHeap<Super>;

    Super &below() { return border_.heap; }

    debug::Border<Super, Policy, Held, L> border_;
};

template <FaultPolicy Policy = StopAtFault, std::size_t Held = 64, class L = RankedLock<sync::Rank::debug>>
struct Check {
    template <class Super>
    using on = CheckHeap<Super, Policy, Held, L>;
};

} // namespace cairn
