// SPDX-License-Identifier: MIT
//
// Stock: the superblocks of the global heap, and which of them a thread heap gets.
//
// Adds:    put, take and take_empty. A heap gets, in this order: a partly filled superblock that it gave up itself;
//          one that another heap gave up; a superblock without live blocks. With the second kind two threads may come
//          to share cache lines. So a heap gets it only if blocks of the class fill whole cache lines, or free memory
//          here exceeds the global heap's own slack, or as many superblocks of the class as there are heaps have
//          uncarved blocks.
// Needs:   Places; HeapsInUse.
// Keeps:   free bytes in partly filled superblocks here: at most the slack for each heap in use; beyond that a
//          superblock goes to any heap that asks. Superblocks of a class that have live and uncarved blocks: at most
//          as many as heaps were ever in use.
// Threads: the caller holds the global heap's lock; heaps() and the two hints: any.
// Cost:    a look at a few superblocks of the class.
// Source:  Hoard, section 3.3 (superblocks that move may share lines; that has to be rare).
#pragma once

#include <cairn/superblock/account.hpp>
#include <cairn/superblock/emptiness.hpp>
#include <cairn/superblock/heaps_in_use.hpp>
#include <cairn/superblock/places.hpp>
#include <cairn/superblock/renewal.hpp>

#include <algorithm>

namespace cairn {

template <class Classes, class Discipline>
class Stock {
public:
    constexpr Stock() = default;

    /// Puts in a superblock that `heap` gives up. One without live blocks has an empty remote list: its remote frees
    /// were counted.
    void put(OwnerLine *s, unsigned heap) {
        s->last_heap = static_cast<std::uint16_t>(heap);
        if (s->accounted == 0) {
            return put_empty(s);
        }
        places_.put(s);
        free_bytes_ += superblock::free_bytes(s, s->accounted);
        uncarved_[s->size_class] += is_uncarved(s);
    }

    /// Takes out a superblock with live blocks.
    void take_out(OwnerLine *s) {
        places_.take_out(s);
        leave(s);
    }

    /// A superblock without live blocks, of any class, taken out; within a class one that `heap` gave up, if there is
    /// one. nullptr when there is none.
    OwnerLine *take_any_empty(unsigned heap) {
        for (; empty_bytes() != 0; hand_ = (hand_ + 1) % Classes::count) {
            if (OwnerLine *const s = take_empty(hand_, heap)) {
                return s;
            }
        }
        return nullptr;
    }

    /// Bytes of superblocks without live blocks. A hint without the lock.
    std::size_t empty_bytes() const { return empty_bytes_.load(std::memory_order_relaxed); }

    /// How much of empty_bytes() was touched. A hint without the lock.
    std::size_t empty_touched() const { return empty_touched_.load(std::memory_order_relaxed); }

    /// The superblock of the class that `heap` gets, taken out; nullptr when there is none for it.
    OwnerLine *take(unsigned size_class, unsigned heap) {
        OwnerLine *s = places_.take_fullest_of(size_class, heap);
        if (s == nullptr && may_change_heaps(size_class)) {
            s = places_.take_fullest(size_class);
        }
        if (s == nullptr) {
            return take_empty(size_class, heap);
        }
        leave(s);
        return s;
    }

    /// A superblock of the class without live blocks, taken out; one that `heap` gave up, if there is one. nullptr
    /// when there is none.
    OwnerLine *take_empty(unsigned size_class, unsigned heap) {
        const std::uint8_t ways_there = ways_of_[size_class];
        if (ways_there == 0) {
            return nullptr;
        }
        const unsigned nearest = log2_exact(std::rotr(ways_there, static_cast<int>(heap % ways_)));
        const unsigned way = (heap + nearest) % ways_;
        LineList &empties = empties_[size_class][way];
        OwnerLine *const s = empties.front();
        empties.remove(s);
        if (empties.empty()) {
            ways_of_[size_class] &= static_cast<std::uint8_t>(~(1u << way));
        }
        s->place = Place::nowhere;
        note_empties(empty_bytes() - span_of(s), empty_touched() - s->touched);
        return s;
    }

    HeapsInUse &heaps() { return heaps_; }

    /// In the child of a fork: the stock is empty, and no heap is in use.
    void forget() {
        places_ = {};
        free_bytes_ = 0;
        std::ranges::fill(uncarved_, 0U);
        for (auto &of_class : empties_) {
            for (LineList &empties : of_class) {
                empties = {};
            }
        }
        std::ranges::fill(ways_of_, std::uint8_t{0});
        note_empties(0, 0);
        heaps_.forget();
    }

private:
    /// Lists of superblocks without live blocks for each class, which heaps share by their numbers: as many as a byte
    /// has bits.
    static constexpr unsigned ways_ = 8;

    static bool is_uncarved(const OwnerLine *s) { return s->carved != shared_of(s)->capacity; }

    /// A superblock with live blocks has left `places_`.
    void leave(const OwnerLine *s) {
        free_bytes_ -= superblock::free_bytes(s, s->accounted);
        uncarved_[s->size_class] -= is_uncarved(s);
    }

    /// Whether a heap may get a partly filled superblock that another heap gave up.
    bool may_change_heaps(unsigned size_class) const {
        return blocks_fill_lines(size_class) || free_bytes_ > slack() ||
               uncarved_[size_class] >= heaps_.peak();
    }

    static bool blocks_fill_lines(unsigned size_class) {
        return Classes::size_of(size_class) % platform::cache_line == 0;
    }

    void put_empty(OwnerLine *s) {
        superblock::carve_again_if_incomplete(s);
        s->place = Place::empty;
        empties_[s->size_class][s->last_heap % ways_].push_front(s);
        ways_of_[s->size_class] |= static_cast<std::uint8_t>(1u << s->last_heap % ways_);
        note_empties(empty_bytes() + span_of(s), empty_touched() + s->touched);
    }

    void note_empties(std::size_t bytes, std::size_t touched) {
        empty_bytes_.store(bytes, std::memory_order_relaxed);
        empty_touched_.store(touched, std::memory_order_relaxed);
    }

    std::size_t slack() const { return heaps_.together(Discipline::slack); }

    Places<Classes::count> places_;
    std::size_t free_bytes_ = 0;
    std::uint32_t uncarved_[Classes::count]{}; ///< superblocks in places_ that have uncarved blocks
    /// Superblocks without live blocks, by class and by the heap that gave them up, whose processor may have them in
    /// its cache.
    LineList empties_[Classes::count][ways_];
    std::atomic<std::size_t> empty_bytes_{0};   ///< relaxed: a hint without the lock, exact under it
    std::atomic<std::size_t> empty_touched_{0}; ///< relaxed: a hint without the lock, exact under it
    unsigned hand_ = 0;                         ///< the class of the last take_any_empty()
    HeapsInUse heaps_;
    std::uint8_t
        ways_of_[Classes::count]{}; ///< for each class a bit for each list in empties_ that is not empty
};

} // namespace cairn
