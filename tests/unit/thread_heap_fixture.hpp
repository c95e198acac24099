// SPDX-License-Identifier: MIT
//
// Three thread heaps over one global heap, played by one thread.
#pragma once

#include "process_memory.hpp"

#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace cairn::test {

using Classes = FlagshipClasses;
using Discipline = Emptiness<FlagshipParameters::slack, 1, 6>;
using Global = GlobalHeap<Classes, Discipline>;
using Heap = ThreadHeap<Global>;

constexpr unsigned movable = Discipline::movable_groups<Places<Classes::count>::groups>;

class ThreadHeaps : public testing::Test {
protected:
    ThreadHeaps() {
        for (unsigned i = 0; i < heaps_.size(); ++i) {
            heaps_[i].open(*global_, i + 1);
            global_->stock().heaps().opened();
        }
    }

    static OwnerLine *superblock_of(const void *p) {
        OwnerLine *const s = superblock::superblock_at(address_of(p));
        EXPECT_NE(s, nullptr);
        return s;
    }

    bool owns(Heap &heap, const OwnerLine *s) {
        return Global::Notice::heap_of(shared_of(s)->owner.load()) == &heap;
    }

    /// Frees a block as the thread of `heap` does, whosever block it is.
    void free(Heap &heap, void *p) {
        OwnerLine *const s = superblock_of(p);
        if (!owns(heap, s)) {
            if (const auto told = superblock::free_remote(s, address_of(p)); told.is_notice()) {
                global_->notice(s, told.word);
            }
        } else if (s->slots == 1 ? heap.free_local(s, address_of(p)) : heap.free_medium(s, address_of(p))) {
            heap.check(s);
            expect_looked_at(heap);
        }
    }

    /// What a look leaves behind: no superblock without live blocks while the heap is too empty; and if it is so by
    /// much, others may know.
    void expect_looked_at(Heap &heap) {
        auto &holdings = heap.holdings();
        EXPECT_TRUE(holdings.overdraft() == 0 || holdings.places().empty() == nullptr)
            << holdings.overdraft();
    }

    /// What a visit leaves behind.
    void expect_invariant(Heap &heap) {
        auto &holdings = heap.holdings();
        EXPECT_TRUE(!Discipline::too_empty(holdings.used(), holdings.held()) ||
                    holdings.places().emptiest(movable) == nullptr)
            << "u = " << holdings.used() << ", a = " << holdings.held();
    }

    /// u and a are those of the superblocks that name the heap as their owner; u as far as it was looked.
    void expect_accounts(Heap &heap) {
        std::size_t held = 0;
        std::size_t accounted = 0;
        superblock::for_each(runs_, [&](const OwnerLine *s) {
            if (owns(heap, s)) {
                held += superblock::held_by(s);
                EXPECT_EQ(s->slots, global_->maker().slots_of_class(s->size_class));
                accounted += s->accounted * Classes::size_of(s->size_class);
                const auto step = static_cast<std::int64_t>(Discipline::step_of(shared_of(s)->capacity));
                EXPECT_GT(std::int64_t{s->live()} + step, std::int64_t{s->accounted}) << "a look was missed";
            }
        });
        ASSERT_EQ(heap.holdings().held(), held);
        ASSERT_EQ(heap.holdings().used(), accounted);
    }

    /// Those that the global heap keeps without live blocks become free runs first.
    std::size_t superblocks() {
        global_->make_room(SIZE_MAX);
        std::size_t count = 0;
        superblock::for_each(runs_, [&](const OwnerLine *) { ++count; });
        return count;
    }
    std::size_t owned(Heap &heap) {
        std::size_t count = 0;
        superblock::for_each(runs_, [&](const OwnerLine *s) { count += owns(heap, s); });
        return count;
    }

    RunHeap runs_;
    std::unique_ptr<Global> global_ = std::make_unique<Global>(runs_);
    std::array<Heap, 3> heaps_;
    Heap &heap_ = heaps_[0];
};

} // namespace cairn::test
