// SPDX-License-Identifier: MIT
//
// MichaelPlaces: where superblocks are: the processors' heaps, the queues of partly filled ones, and the retired.
//
// Adds:    the active word of a heap and class; put, get, drop of partly filled superblocks; retire, revive.
// Needs:   superblocks of family::Segments. Whoever puts a superblock somewhere holds it (michael_superblock.hpp).
// Keeps:   a heap has at most one partly filled superblock of a class, in its slot: what comes later pushes it into the
//          class's queue, which all heaps share, first in, first out. A superblock that has become empty is retired by
//          whoever takes it out of slot or queue, once; then any class may have it.
// Threads: any; lock-free. A thread that has taken a superblock out and not yet put it back hides it from the others.
// Cost:    an exchange for a slot; for a queue see michael_queues.hpp.
// Source:  Michael (PLDI 2004), section 3.2: HeapPutPartial, HeapGetPartial, RemoveEmptyDesc,
//          ListRemoveEmptyDesc, DescRetire.
#pragma once

#include <cairn/family/michael_queues.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/sync/tagged_stack.hpp>

#include <array>
#include <utility>

namespace cairn {

template <class Parameters>
class MichaelPlaces {
public:
    using Layout = family::SegmentLayout<MichaelSuperblock, Parameters::superblock>;
    using Classes = PowersOfTwo<Parameters::smallest,
                                log2_exact(Parameters::largest_small) - log2_exact(Parameters::smallest) + 1>;

    static constexpr unsigned heaps = Parameters::most_processors;
    static constexpr unsigned first_bit = log2_exact(Parameters::smallest);

    /// The superblock that a heap hands out, and its credits less one; 0: none.
    std::atomic<std::uint64_t> &active(unsigned heap, unsigned size_class) {
        return heaps_[heap][size_class].active;
    }

    /// The same as it is now. relaxed: a number, for statistics.
    typename Layout::Reference active_now(unsigned heap, unsigned size_class) const {
        return Layout::Reference::of_bits(heaps_[heap][size_class].active.load(std::memory_order_relaxed));
    }

    /// HeapPutPartial, by who holds the superblock.
    void put(MichaelSuperblock &superblock) {
        const unsigned size_class = class_of(superblock);
        // relaxed: any heap is right. release: pairs with whoever takes it out; acquire: with whoever put the other.
        auto &slot = heaps_[superblock.heap.load(std::memory_order_relaxed)][size_class].partial;
        if (char *const before = slot.exchange(Layout::memory(&superblock), std::memory_order_acq_rel)) {
            queues_.put(size_class, *Layout::descriptor(before));
        }
    }

    /// HeapGetPartial; the caller holds it now. nullptr: there is none. It may be empty.
    MichaelSuperblock *get(unsigned heap, unsigned size_class) {
        auto &slot = heaps_[heap][size_class].partial;
        char *there = slot.load(std::memory_order_relaxed); // relaxed: is it worth an exchange?
        if (there != nullptr) {
            there = slot.exchange(nullptr, std::memory_order_acquire); // pairs with put()
        }
        return there != nullptr ? Layout::descriptor(there) : queues_.get(size_class);
    }

    /// RemoveEmptyDesc, by who freed the last block, which does not hold the superblock: another thread may have
    /// retired it by now, and it may have come back to the same slot with live blocks.
    void drop(MichaelSuperblock &superblock, unsigned heap, unsigned size_class) {
        char *there = Layout::memory(&superblock);
        // acquire: pairs with put(). relaxed if it fails: it is not there.
        if (!heaps_[heap][size_class].partial.compare_exchange_strong(
                there, nullptr, std::memory_order_acquire, std::memory_order_relaxed)) {
            drop_of_queue(size_class);
        } else if (superblock.is_empty()) {
            retire(superblock);
        } else {
            put(superblock);
        }
    }

    /// DescRetire, by who holds it. It keeps its list of free blocks.
    void retire(MichaelSuperblock &superblock) { retired_.push(Layout::memory(&superblock)); }

    /// nullptr: none is retired.
    MichaelSuperblock *revive() {
        char *const memory = retired_.pop();
        return memory == nullptr ? nullptr : Layout::descriptor(memory);
    }

    /// When there is no other memory: retires the empty ones that nobody has come across yet.
    CAIRN_COLD void drop_all() {
        for (unsigned c = 0; c < Classes::count; ++c) {
            for (auto &heap : heaps_) {
                // relaxed: as in get()
                if (char *const there = heap[c].partial.load(std::memory_order_relaxed)) {
                    if (Layout::descriptor(there)->is_empty()) {
                        drop(*Layout::descriptor(there), static_cast<unsigned>(&heap - heaps_.data()), c);
                    }
                }
            }
            const MichaelSuperblock *const first = turn(c);
            for (unsigned i = 0; first != nullptr && i < most_looked_at_; ++i) {
                if (turn(c) == first) {
                    break; // once round
                }
            }
        }
    }

    static unsigned class_of(const MichaelSuperblock &superblock) {
        // relaxed: it does not change while a block is live or somebody holds the superblock.
        return superblock.class_bit.load(std::memory_order_relaxed) - first_bit;
    }

    /// For tests, which run alone, so all is relaxed: of_heap(heap, size_class, active word, superblock in the slot);
    /// queued(size_class, superblock) for each in a queue; retired(superblock) for each that is retired.
    template <class Heap, class Queued, class Retired>
    void for_each(Heap of_heap, Queued queued, Retired retired) {
        for (unsigned c = 0; c < Classes::count; ++c) {
            for (unsigned h = 0; h < heaps; ++h) {
                char *const slot = heaps_[h][c].partial.load(std::memory_order_relaxed);
                of_heap(h, c, active_now(h, c), slot == nullptr ? nullptr : Layout::descriptor(slot));
            }
            queues_.for_each(c, [&](MichaelSuperblock &superblock) { queued(c, superblock); });
        }
        char *all = nullptr; // linked through `next`, which the stack has done with
        while (MichaelSuperblock *const superblock = revive()) {
            retired(*superblock);
            superblock->next.store(std::exchange(all, Layout::memory(superblock)), std::memory_order_relaxed);
        }
        while (all != nullptr) {
            MichaelSuperblock &superblock = *Layout::descriptor(all);
            all = superblock.next.load(std::memory_order_relaxed);
            retire(superblock);
        }
    }

private:
    static_assert(Classes::largest == Parameters::largest_small);
    static constexpr std::uint32_t least_ = Layout::capacity(log2_exact(Parameters::largest_small));
    static constexpr std::uint32_t most_ = Layout::capacity(first_bit);
    static_assert(least_ >= 2, "a full superblock is not empty with the next free");
    static_assert(most_ < 1u << MichaelAnchor::count_bits);
    static constexpr unsigned most_looked_at_ = 4096; ///< of a queue, when there is no memory

    struct alignas(platform::cache_line) Heap {
        std::atomic<std::uint64_t> active{0};
        std::atomic<char *> partial{nullptr};
    };
    /// Retires empty ones up to the first that is not, which goes to the end. Returns that one; nullptr: the queue has
    /// ended.
    MichaelSuperblock *turn(unsigned size_class) {
        while (MichaelSuperblock *const superblock = queues_.get(size_class)) {
            if (!superblock->is_empty()) {
                queues_.put(size_class, *superblock);
                return superblock;
            }
            retire(*superblock);
        }
        return nullptr;
    }

    /// ListRemoveEmptyDesc. Two go to the end for each that becomes empty, so no more than half of a queue does; with
    /// one nearly all of it could.
    void drop_of_queue(unsigned size_class) {
        if (turn(size_class) != nullptr) {
            turn(size_class);
        }
    }

    static std::atomic<char *> &link_of(char *memory) { return Layout::descriptor(memory)->next; }

    std::array<std::array<Heap, Classes::count>, heaps> heaps_{};
    MichaelQueues<Layout, Classes::count> queues_;
    sync::TaggedStack<char, Layout::superblock, link_of> retired_;
};

} // namespace cairn
