// SPDX-License-Identifier: MIT
//
// ProfileHeap: counts what crosses the border between two layers. One on top and one at the source give the
// fragmentation between them.
//
// Adds:    the counts of usage.hpp, in a Usage that the template names: it outlives the heap, and all heaps that name
//          it add up in it, as the little heaps of a SegregatedHeap do.
// Needs:   a heap that knows the size of a block. SizeTable below it, where the size that was asked for is wanted.
// Keeps:   all capabilities of the heap below, the way sizes are recorded, every size and every pointer. Blocks that go
//          with their heap, by clear or the destructor, count as gone, not as freed.
// Threads: those of the heap below.
// Errors:  those of the heap below.
// Cost:    getSize, and some seven atomic additions, each way; no memory but the Usage.
// Source:  Heap Layers, Table 1: ProfileHeap.
#pragma once

#include <cairn/core/at_end.hpp>
#include <cairn/core/concepts.hpp>
#include <cairn/debug/finding.hpp>
#include <cairn/debug/usage.hpp>
#include <cairn/layer/region_end.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn {

template <SizedHeap Super, Usage &Into>
class ProfileHeap : public detail::SameRecordAs<Super> {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>, joins = Joins<Super>,
                          takes_others = TakesOthers<Super>, contiguous = ContiguousHeap<Super>;

    ProfileHeap() = default;
    ProfileHeap(const ProfileHeap &) = delete;
    ProfileHeap &operator=(const ProfileHeap &) = delete;
    ~ProfileHeap() { forget(); }

    void *malloc(std::size_t size) {
        return count(asked([&] { return heap_.malloc(size); }), size);
    }

    void free(void *p) {
        if (p != nullptr) {
            cairn::is_live(heap_, p) ? leave(heap_.getSize(p)) : void();
            heap_.free(p);
        }
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return count(asked([&] { return heap_.memalign(wanted, size); }), size);
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return count(asked([&] { return heap_.malloc_zeroed(size); }), size);
    }

    void *calloc(std::size_t n, std::size_t size)
        requires ArrayHeap<Super>
    {
        return count(asked([&] { return heap_.calloc(n, size); }), n * size);
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        const bool live = p != nullptr && cairn::is_live(heap_, p);
        const std::size_t before = live ? heap_.getSize(p) : 0;
        void *const moved = asked([&] { return heap_.reallocate(p, size); });
        if (live && (moved != nullptr || size == 0)) {
            leave(before);
        }
        return moved == nullptr && size == 0 ? nullptr : count(moved, size);
    }

    std::size_t getSize(void *p) const
        requires(!SelfSizedHeap<Super>)
    {
        return heap_.getSize(p);
    }

    static std::size_t getSize(void *p)
        requires SelfSizedHeap<Super>
    {
        return Super::getSize(p);
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return heap_.owns(p);
    }

    std::size_t remaining() const
        requires BoundedHeap<Super>
    {
        return heap_.remaining();
    }

    void clear()
        requires ClearableHeap<Super>
    {
        heap_.clear();
        forget();
    }

    void lock_all()
        requires sync::ForkLocks<Super>
    {
        heap_.lock_all();
    }
    void unlock_all(sync::AfterFork side)
        requires sync::ForkLocks<Super>
    {
        heap_.unlock_all(side);
    }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        heap_.begin_in_child();
    }

private:
    /// An exception is a failure too.
    template <class F>
    static void *asked(F ask) {
        bool thrown = true;
        const AtEnd counted([&] { thrown ? Into.failures.add(1) : void(); });
        void *const p = ask();
        thrown = false;
        return p;
    }

    void *count(void *p, std::size_t size) {
        if (p == nullptr) {
            Into.failures.add(1);
            return nullptr;
        }
        const std::size_t rounded = heap_.getSize(p);
        Into.count(size, rounded);
        Into.blocks.rise(1);
        Into.bytes.rise(rounded);
        blocks_.rise(1);
        bytes_.rise(rounded);
        return p;
    }

    void leave(std::size_t rounded) {
        Into.frees.add(1);
        Into.blocks.fall(1);
        Into.bytes.fall(rounded);
        blocks_.fall(1);
        bytes_.fall(rounded);
    }

    /// What is live here is gone.
    void forget() {
        Into.blocks.fall(blocks_.now());
        Into.bytes.fall(bytes_.now());
        blocks_.fall(blocks_.now());
        bytes_.fall(bytes_.now());
    }

    Super heap_;
    Level blocks_; ///< of this heap alone
    Level bytes_;
};

template <Usage &Into>
struct Profile {
    template <class Super>
    using on = ProfileHeap<Super, Into>;
};

} // namespace cairn
