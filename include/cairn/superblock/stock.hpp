// SPDX-License-Identifier: MIT
//
// Stock: the superblocks of the global heap, and which of them a thread heap gets.
//
// Adds:    superblocks without live blocks, kept for the next heap that needs one of the class;
//          a choice that keeps threads apart: a heap gets back what it gave up itself; a stranger's empty one when it has
//          none; a stranger's partly filled one, whose cache lines it may come to share with the stranger's live blocks,
//          only when more lies free in here than the global heap's own slack, or as many of the class have blocks to cut as there are heaps.
// Needs:   Places; HeapsInUse.
// Keeps:   free bytes in here, beyond what is handed to whoever asks first: at most K S for each heap in use; of each class at most as
//          many superblocks with live blocks that are not cut to the end as heaps were ever in use.
// Threads: the caller holds the global heap's lock; heaps() any.
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

    /// `heap`: which one gives it up. Without live blocks it has none in its remote list either: they were counted.
    void put(OwnerLine *s, unsigned heap) {
        s->last_heap = static_cast<std::uint16_t>(heap);
        if (s->accounted == 0) {
            return put_empty(s);
        }
        places_.put(s);
        free_bytes_ += superblock::free_bytes(s, s->accounted);
        uncarved_[s->size_class] += is_uncarved(s);
    }

    void take_out(OwnerLine *s) {
        places_.take_out(s);
        leave(s);
    }

    /// One without live blocks, of any class, taken out; of those of a class, one that `heap` gave up. nullptr when there is none.
    OwnerLine *take_any_empty(unsigned heap) {
        for (; empty_bytes() != 0; hand_ = (hand_ + 1) % Classes::count) {
            if (OwnerLine *const s = take_empty(hand_, heap)) {
                return s;
            }
        }
        return nullptr;
    }

    /// A hint without the lock.
    std::size_t empty_bytes() const { return empty_bytes_.load(std::memory_order_relaxed); }

    /// What of that was touched. A hint too.
    std::size_t empty_touched() const { return empty_touched_.load(std::memory_order_relaxed); }

    /// The superblock of the class for `heap`, taken out; nullptr when there is none for it.
    OwnerLine *take(unsigned size_class, unsigned heap) {
        OwnerLine *s = places_.take_fullest_of(size_class, heap);
        if (s == nullptr && may_be_a_strangers(size_class)) {
            s = places_.take_fullest(size_class);
        }
        if (s == nullptr) {
            return take_empty(size_class, heap);
        }
        leave(s);
        return s;
    }

    /// One of the class without live blocks, taken out; one that `heap` gave up, if there is one.
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
    static constexpr unsigned ways_ = 8; ///< as many as a byte has bits, for take_empty

    static bool is_uncarved(const OwnerLine *s) { return s->carved != shared_of(s)->capacity; }

    /// One with live blocks is in `places_` no more.
    void leave(const OwnerLine *s) {
        free_bytes_ -= superblock::free_bytes(s, s->accounted);
        uncarved_[s->size_class] -= is_uncarved(s);
    }

    bool may_be_a_strangers(unsigned size_class) const {
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
    std::uint32_t uncarved_[Classes::count]{}; ///< of places_, superblocks that have blocks to be cut yet
    /// By the heap that gave them up, whose processor has seen them last.
    LineList empties_[Classes::count][ways_];
    std::atomic<std::size_t> empty_bytes_{0};   ///< relaxed: a hint without the lock, exact under it
    std::atomic<std::size_t> empty_touched_{0}; ///< the same
    unsigned hand_ = 0;                         ///< the class that gave up an empty one last
    HeapsInUse heaps_;
    std::uint8_t ways_of_[Classes::count]{}; ///< of empties_: a bit for each way of the class that has any
};

} // namespace cairn
