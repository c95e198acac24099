// SPDX-License-Identifier: MIT
//
// Heap i of Wen and Deng: superblocks by class and fullness, and how much of them is used.
//
// Adds:    the lock, the lists, u_i and a_i, and the questions that malloc and free ask of them.
// Needs:   Superblock, OrderedList.
// Keeps:   u_i is the sum of s.u, a_i that of S, over the heap's superblocks; builds with assertions walk over all of
//          them now and then to see it.
// Threads: all but statistics and consistent under `lock`, which those two take.
// Cost:    a cache line or two for u_i and a_i; a walk over the mostly empty superblocks when one has to leave.
// Source:  Wen and Deng, sections 1.2 and 2.1; the lines are those of the pseudo code in section 1.2.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/wen_deng_list.hpp>
#include <cairn/family/wen_deng_superblock.hpp>

#include <algorithm>
#include <iterator>

namespace cairn::wen_deng {

template <class Parameters, class Links>
class alignas(platform::cache_line) OwnerHeap {
public:
    using Superblock = wen_deng::Superblock<Parameters, Links>;
    using Classes = typename Superblock::Classes;

    explicit constexpr OwnerHeap(sync::Rank rank = sync::Rank::thread_heap) : lock(rank) {}

    /// malloc, line 6.
    Superblock *fullest_with_space(unsigned c) const { return lists_[c].open(); }

    /// malloc, lines 17 and 18: a block of a superblock that fullest_with_space named, or would name now.
    void *take_block(Superblock &s) {
        check(&s == lists_[s.size_class].open(), "a block is taken of another superblock than the fullest");
        void *const block = s.take();
        used_ += s.block_size();
        lists_[s.size_class].became_fuller(s);
        check_now_and_then();
        return block;
    }

    /// free, lines 5 to 7.
    void put_block(Superblock &s, void *block) {
        const bool was_full = s.full();
        s.put(block);
        used_ -= s.block_size();
        lists_[s.size_class].became_emptier(s, was_full);
        check_now_and_then();
    }

    /// malloc, lines 14 and 16; free, lines 11 and 13.
    void add(Superblock &s) {
        lists_[s.size_class].insert(s);
        used_ += s.used;
        allocated_ += Superblock::superblock_size;
    }

    /// malloc, lines 13 and 15; free, lines 12 and 13.
    void remove(Superblock &s) {
        lists_[s.size_class].remove(s);
        used_ -= s.used;
        allocated_ -= Superblock::superblock_size;
    }

    /// free, line 9: u_i < a_i - K S, and u_i < (1 - f) a_i.
    bool too_empty() const {
        return used_ + Parameters::least_superblocks * Superblock::superblock_size < allocated_ &&
               used_ * Parameters::emptiness_denominator <
                   allocated_ * (Parameters::emptiness_denominator - Parameters::emptiness_numerator);
    }

    /// free, line 10: the emptiest superblock, if it is mostly empty and no free is on its way to this heap for it;
    /// else the next emptiest. nullptr: there is none.
    Superblock *mostly_empty_and_free_to_go() const {
        Superblock *best = nullptr;
        for (const OrderedList<Superblock> &list : lists_) {
            Superblock *s = list.last();
            // relaxed: a guess, that hand_over_locked confirms under the back pointer mutex.
            while (s != nullptr && s->mostly_empty() && s->references.load(std::memory_order_relaxed) != 0) {
                s = s->previous;
            }
            if (s != nullptr && s->mostly_empty() && (best == nullptr || s->used < best->used)) {
                best = s;
            }
        }
        return best;
    }

    /// True for every heap that is too empty: not all of its superblocks can be fuller than they are on average.
    bool has_mostly_empty() const {
        return std::any_of(std::begin(lists_), std::end(lists_), [](const OrderedList<Superblock> &list) {
            return list.last() != nullptr && list.last()->mostly_empty();
        });
    }

    /// f(s) for each superblock, under the lock.
    template <class F>
    void for_each_locked(F f) const {
        for (const OrderedList<Superblock> &list : lists_) {
            for (Superblock *s = list.first(); s != nullptr; s = s->next) {
                f(*s);
            }
        }
    }

    bool consistent() {
        const sync::Guard guard(lock);
        return consistent_locked();
    }

    /// Adds what this heap has.
    void statistics(Statistics &out) {
        const sync::Guard guard(lock);
        out.small_live += used_;
        out.small_resident += allocated_;
        out.superblocks += allocated_ / Superblock::superblock_size;
        out.heaps += allocated_ != 0 ? 1 : 0;
        for_each_locked([&out](const Superblock &s) {
            SizeClassStatistics &of_class = out.by_class[s.size_class];
            ++of_class.superblocks;
            of_class.live_blocks += s.used / s.block_size();
            of_class.free_blocks += s.freed.length();
        });
    }

    sync::Lock lock;

private:
    bool consistent_locked() const {
        std::size_t used = 0;
        std::size_t allocated = 0;
        bool agree = true;
        for_each_locked([&](const Superblock &s) {
            used += s.used;
            allocated += Superblock::superblock_size;
            agree = agree && s.owner == this && s.accounts_agree();
        });
        for (const OrderedList<Superblock> &list : lists_) {
            agree = agree && list.in_order();
        }
        return agree && used == used_ && allocated == allocated_;
    }

    void check_now_and_then() {
        if constexpr (platform::checked) {
            if (++operations_ % 256 == 0) {
                check(consistent_locked(), "u_i, a_i or the order of the superblocks is wrong");
            }
        }
    }

    std::size_t used_ = 0;      // u_i
    std::size_t allocated_ = 0; // a_i
    [[maybe_unused]] unsigned operations_ = 0;
    OrderedList<Superblock> lists_[Classes::count];
};

} // namespace cairn::wen_deng
