// SPDX-License-Identifier: MIT
//
// Stock: the superblocks of the global heap, and which of them a thread heap gets.
//
// Adds:    a choice that keeps threads apart: a heap gets back what it gave up itself; a stranger's partly
//          filled superblock, whose cache lines it may come to share with the stranger's live blocks, only
//          when more lies free in here than the global heap's own slack.
// Needs:   Places; the number of heaps in use.
// Keeps:   free bytes in here, beyond what is handed to whoever asks first: at most K S for each heap in use.
// Threads: the caller holds the global heap's lock; heap_opened and heap_closed any.
// Cost:    a look at a few superblocks of the class.
// Source:  Hoard, section 3.3 (superblocks that move may share lines; that has to be rare).
#pragma once

#include <cairn/superblock/emptiness.hpp>
#include <cairn/superblock/places.hpp>

namespace cairn {

template <class Classes, class Discipline>
class Stock {
public:
    constexpr Stock() = default;

    /// `heap`: which one gives it up.
    void put(OwnerLine *s, unsigned heap) {
        s->last_heap = static_cast<std::uint16_t>(heap);
        places_.put(s);
        free_bytes_ += free_bytes_of(s);
    }

    void take_out(OwnerLine *s) {
        free_bytes_ -= free_bytes_of(s);
        places_.take_out(s);
    }

    /// The superblock of the class for `heap`, taken out; nullptr when there is none for it.
    OwnerLine *take(unsigned size_class, unsigned heap) {
        OwnerLine *s = places_.take_fullest_of(size_class, heap);
        if (s == nullptr && (blocks_fill_lines(size_class) || free_bytes_ > slack())) {
            s = places_.take_fullest(size_class);
        }
        if (s != nullptr) {
            free_bytes_ -= free_bytes_of(s);
        }
        return s;
    }

    void heap_opened() { heaps_.fetch_add(1, std::memory_order_relaxed); }
    void heap_closed() { heaps_.fetch_sub(1, std::memory_order_relaxed); }

    void forget() {
        places_ = {};
        free_bytes_ = 0;
        heaps_.store(0, std::memory_order_relaxed);
    }

private:
    static std::size_t free_bytes_of(const OwnerLine *s) {
        return s->extent - std::size_t{s->accounted} * Classes::size_of(s->size_class);
    }

    static bool blocks_fill_lines(unsigned size_class) {
        return Classes::size_of(size_class) % platform::cache_line == 0;
    }

    std::size_t slack() const { return Discipline::slack * heaps_.load(std::memory_order_relaxed); }

    Places<Classes::count> places_;
    std::size_t free_bytes_ = 0;
    std::atomic<std::size_t> heaps_{0}; ///< relaxed: a counter that scales a threshold
};

} // namespace cairn
