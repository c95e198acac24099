// SPDX-License-Identifier: MIT
//
// GlobalHeap: superblocks change hands whole, with every block accounted for; empty ones become free runs.
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace cairn;

namespace {

using Classes = FlagshipClasses;
using Discipline = Emptiness<FlagshipParameters::slack, 1, 6>;
using Global = GlobalHeap<Classes, Discipline>;

constexpr unsigned heaps = 3;
const unsigned class_of_48 = Classes::class_of(48);
const unsigned class_of_64 = Classes::class_of(64);

class GlobalHeapTest : public testing::Test {
protected:
    GlobalHeapTest() {
        for (unsigned heap = 1; heap <= heaps; ++heap) {
            global_->notices().inboxes().set(heap, &inboxes_[heap]);
            global_->stock().heaps().opened();
        }
    }

    /// What stands for the heap of that number where an owner is named.
    void *mark(unsigned heap) { return &inboxes_[heap]; }

    OwnerLine *fresh(unsigned size_class, unsigned heap) {
        OwnerLine *const out_of_another = global_->make_from_empty(size_class, heap, mark(heap));
        OwnerLine *const s =
            out_of_another != nullptr ? out_of_another : global_->make_from_run(size_class, heap, mark(heap));
        EXPECT_NE(s, nullptr);
        EXPECT_EQ(s->size_class, size_class);
        EXPECT_EQ(s->live(), 0u);
        expect_owner(s, heap);
        return s;
    }

    /// A new superblock of the heap's with so many live blocks, at least one; all its blocks are carved.
    OwnerLine *with_live(unsigned size_class, unsigned heap, unsigned live) {
        OwnerLine *const s = fresh(size_class, heap);
        while (superblock::carve(s)) {
        }
        blocks_[s].clear();
        for (unsigned i = 0; i < live; ++i) {
            blocks_[s].push_back(address_of(superblock::pop(s, span_of(s))));
        }
        return s;
    }
    OwnerLine *given_up(unsigned size_class, unsigned heap, unsigned live) {
        OwnerLine *const s = with_live(size_class, heap, live);
        EXPECT_TRUE(global_->release(s, heap));
        return s;
    }

    OwnerLine *acquire(unsigned size_class, unsigned heap) {
        OwnerLine *const s = global_->acquire(size_class, heap, mark(heap));
        if (s != nullptr) {
            if (superblock::is_end(s->free)) {
                superblock::collect(s);
            }
            EXPECT_EQ(s->size_class, size_class);
            expect_owner(s, heap);
        }
        return s;
    }

    /// A free by a thread that does not own the superblock. The inbox that was told of it.
    Inbox *free_one(OwnerLine *s) {
        const std::uintptr_t block = blocks_[s].back();
        blocks_[s].pop_back();
        const superblock::RemoteFree told = superblock::free_remote(s, block);
        return told.is_notice() ? global_->notice(s, told.word) : nullptr;
    }

    void expect_owner(OwnerLine *s, unsigned heap) {
        const SharedLine *const shared = shared_of(s);
        EXPECT_EQ(RemoteWord{remote_of(s)->word.load()}.owner(), heap);
        EXPECT_EQ(shared->owner.load(), heap == 0 ? nullptr : Global::Notice::encode_owner(s, mark(heap)));
    }

    static SlotKind kind(const OwnerLine *s) {
        const Segment *const segment = Segment::of(s);
        return segment->kind(segment->slot_of(s));
    }

    std::size_t superblocks() {
        std::size_t count = 0;
        superblock::for_each(runs_, [&](const OwnerLine *) { ++count; });
        return count;
    }

    RunHeap runs_;
    std::unique_ptr<Global> global_ = std::make_unique<Global>(runs_);
    std::array<Inbox, heaps + 1> inboxes_;
    std::map<OwnerLine *, std::vector<std::uintptr_t>> blocks_;
};

/// Long blocks would else all begin at the same few lines of a page, which share the sets of a cache.
TEST(SuperblockMaker, LongSuperblocksBeginAtDifferentLines) {
    using Maker = Global::Maker;
    for (unsigned c = 0; c < Classes::count; ++c) {
        const std::size_t left = Maker::span_of_class(c) % Classes::size_of(c);
        std::set<std::size_t> shifts;
        for (unsigned slot = 0; slot < end_of_slots; slot += Maker::slots_of_class(c)) {
            const std::size_t shift = Maker::shift_of(c, slot);
            EXPECT_TRUE(shift == 0 || shift <= left) << "as many blocks fit";
            EXPECT_LT(shift, platform::smallest_page) << "no more than a page more is touched";
            EXPECT_TRUE(is_aligned(shift, platform::cache_line));
            shifts.insert(shift);
        }
        const std::size_t lines = std::min(left, platform::smallest_page) / platform::cache_line;
        const std::size_t runs = end_of_slots / Maker::slots_of_class(c);
        EXPECT_GE(shifts.size(), Classes::is_natural(c) ? 1 : std::min(lines, runs) / 2) << c;
        EXPECT_TRUE(Classes::is_natural(c) ? shifts.size() == 1 : lines >= 16) << c;
    }
}

TEST_F(GlobalHeapTest, AFreshSuperblockFitsItsClass) {
    for (unsigned c = 0; c < Classes::count; ++c) {
        OwnerLine *const s = fresh(c, 2);
        EXPECT_EQ(s->slots, Global::Maker::slots_of_class(c));
        EXPECT_TRUE(is_aligned(memory_of(s), span_of(s))) << "natural alignment falls out";
        EXPECT_EQ(kind(s), SlotKind::superblock);
        EXPECT_EQ(shared_of(s)->block_size, Classes::size_of(c));
        EXPECT_EQ(remote_of(s)->notify.load(), Discipline::remote_step_of(shared_of(s)->capacity));
        for (unsigned slot = 1; slot < s->slots; ++slot) {
            EXPECT_EQ(kind(s + slot), SlotKind::tail);
        }
    }
    EXPECT_EQ(global_->maker().made(), Classes::count);
}

TEST_F(GlobalHeapTest, EachHasASecretOfItsOwn) {
    std::set<std::uint64_t> secrets;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(secrets.insert(fresh(3, 1)->cookie).second);
    }
}

TEST_F(GlobalHeapTest, OnlyAnOwnersMarkOfOneSlotIsTheHeapItself) {
    EXPECT_EQ(shared_of(fresh(class_of_48, 1))->owner.load(), mark(1));
    EXPECT_NE(shared_of(fresh(Classes::class_of(20_KiB), 1))->owner.load(), mark(1));
}

TEST_F(GlobalHeapTest, WhatTheKernelDoesNotTakeBackIsNotClean) {
    for (const bool refused : {false, true}) {
        OwnerLine *const s = with_live(class_of_48, 1, 0);
        void *const memory = reinterpret_cast<void *>(memory_of(s));
        if (refused && (platform::sanitized || mlock(memory, slot_size) != 0)) {
            GTEST_SKIP() << "no memory may be locked, or a sanitizer only says that it is";
        }
        global_->maker().purge(s);
        EXPECT_EQ(kind(s), refused ? SlotKind::free_dirty : SlotKind::free_clean);
        munlock(memory, slot_size);
    }
}

TEST_F(GlobalHeapTest, WhatIsEmptyIsKeptForItsClass) {
    OwnerLine *const s = with_live(class_of_48, 1, 0);
    EXPECT_TRUE(global_->release(s, 1));
    EXPECT_EQ(global_->free_bytes(), slot_size);
    EXPECT_EQ(runs_.dirty_bytes(), 0u);
    EXPECT_EQ(global_->counters().to_global, 0u);
    EXPECT_EQ(acquire(class_of_64, 1), nullptr);
    EXPECT_EQ(acquire(class_of_48, 2), s) << "whoever asks: there is no live block to share a line with";
    EXPECT_EQ(s->live(), 0u);
    EXPECT_EQ(s->carved, shared_of(s)->capacity) << "as it is: who takes it decides";
    EXPECT_EQ(global_->free_bytes(), 0u);
}

TEST_F(GlobalHeapTest, OfEmptyOnesAHeapGetsItsOwnFirst) {
    std::array<OwnerLine *, heaps + 1> of{};
    for (unsigned heap = 1; heap <= heaps; ++heap) {
        of[heap] = fresh(class_of_48, heap);
    }
    for (unsigned heap = 1; heap <= heaps; ++heap) {
        EXPECT_TRUE(global_->release(of[heap], heap));
    }
    EXPECT_EQ(acquire(class_of_48, 2), of[2]) << "others came before and later";
    EXPECT_EQ(fresh(class_of_64, 3), of[3]) << "for another class";
    EXPECT_EQ(acquire(class_of_48, 3), of[1]) << "a stranger's, where it has none";
    EXPECT_EQ(acquire(class_of_48, 3), nullptr);
}

TEST_F(GlobalHeapTest, WhatIsEmptyBecomesAFreeRunBeforeMemoryGrows) {
    OwnerLine *const s = given_up(class_of_48, 1, 0);
    EXPECT_EQ(fresh(class_of_64, 2), s) << "usable for any class";
    for (OwnerLine *const other :
         {with_live(class_of_48, 1, 0), with_live(class_of_64, 1, 0), with_live(class_of_48, 1, 0)}) {
        EXPECT_TRUE(global_->release(other, 1));
    }
    global_->make_room(2 * slot_size);
    EXPECT_EQ(runs_.dirty_bytes(), 2 * slot_size) << "as much as is needed";
    EXPECT_EQ(global_->free_bytes(), 3 * slot_size);
    global_->make_room(SIZE_MAX);
    EXPECT_EQ(runs_.dirty_bytes(), 3 * slot_size);
    EXPECT_EQ(kind(s), SlotKind::superblock) << "which heap 2 has";
}

TEST_F(GlobalHeapTest, AnEmptyOneOfOneSlotIsMadeAnewAndKeepsWhatItHasTouched) {
    OwnerLine *const wide = given_up(Classes::class_of(20_KiB), 1, 1);
    OwnerLine *const lean = fresh(class_of_64, 1);
    superblock::carve(lean);
    const std::uint32_t extent = lean->touched;
    ASSERT_LT(extent, slot_size);
    ASSERT_TRUE(global_->release(lean, 1));
    free_one(wide);
    EXPECT_EQ(fresh(class_of_48, 2), lean);
    EXPECT_EQ(lean->touched, extent);
    EXPECT_EQ(lean->size_class, class_of_48);
    expect_owner(lean, 2);
    OwnerLine *const next = fresh(class_of_48, 2);
    EXPECT_GE(next, wide);
    EXPECT_LT(next, wide + wide->slots) << "a longer one becomes a run";
    EXPECT_EQ(global_->stock().empty_bytes(), 0u);
}

TEST_F(GlobalHeapTest, AnEmptyOneOfSeveralSlotsServesAnotherClassOfThatLength) {
    const unsigned of_20 = Classes::class_of(20_KiB);
    const unsigned of_28 = Classes::class_of(28_KiB);
    const unsigned of_40 = Classes::class_of(40_KiB);
    ASSERT_EQ(Global::Maker::slots_of_class(of_20), Global::Maker::slots_of_class(of_28));
    ASSERT_NE(Global::Maker::slots_of_class(of_20), Global::Maker::slots_of_class(of_40));
    OwnerLine *const s = given_up(of_20, 1, 0);
    const std::uint32_t extent = s->touched;
    ASSERT_NE(extent, 0u);
    EXPECT_EQ(global_->make_from_empty(of_40, 2, mark(2)), nullptr) << "a longer one";
    EXPECT_EQ(global_->free_bytes(), span_of(s)) << "it stays";
    EXPECT_EQ(runs_.dirty_bytes(), 0u);
    EXPECT_EQ(global_->make_from_empty(of_28, 2, mark(2)), s);
    EXPECT_EQ(s->size_class, of_28);
    EXPECT_EQ(s->carved, 0u);
    EXPECT_EQ(s->touched, extent) << "what was touched stays known";
    expect_owner(s, 2);
    EXPECT_EQ(global_->free_bytes(), 0u);
    given_up(of_40, 1, 0);
    EXPECT_EQ(global_->make_from_empty(of_20, 2, mark(2)), nullptr) << "a shorter one";
}

TEST_F(GlobalHeapTest, AnEmptyOneOfSeveralSlotsServesAllClassesOfThatLength) {
    for (unsigned c = 0; c < Classes::count; ++c) {
        const unsigned slots = Global::Maker::slots_of_class(c);
        if (slots == 1) {
            continue;
        }
        const OwnerLine *const s = given_up(c, 1, 0);
        for (unsigned wanted = 0; wanted < Classes::count; ++wanted) {
            const unsigned of_wanted = Global::Maker::slots_of_class(wanted);
            if (of_wanted == 1) {
                continue;
            }
            OwnerLine *const got = global_->make_from_empty(wanted, 2, mark(2));
            EXPECT_EQ(got, of_wanted == slots ? s : nullptr)
                << "cut for class " << c << ", wanted for " << wanted;
            if (got != nullptr) {
                ASSERT_TRUE(global_->release(got, 2));
                OwnerLine *const again = global_->make_from_empty(c, 1, mark(1));
                ASSERT_EQ(again, s);
                ASSERT_TRUE(global_->release(again, 1));
            }
        }
        global_->make_room(SIZE_MAX);
    }
}

TEST_F(GlobalHeapTest, EmptyOnesOfManyHeapsAreFoundByAnyOnce) {
    constexpr unsigned many = 19;
    std::vector<Inbox> inboxes(many + 1);
    std::set<OwnerLine *> given;
    for (unsigned heap = heaps + 1; heap <= many; ++heap) {
        global_->notices().inboxes().set(heap, &inboxes[heap]);
        OwnerLine *const s = global_->make_from_run(class_of_48, heap, &inboxes[heap]);
        ASSERT_NE(s, nullptr);
        given.insert(s);
    }
    for (OwnerLine *const s : given) {
        ASSERT_TRUE(global_->release(s, RemoteWord{remote_of(s)->word.load()}.owner()));
    }
    for (unsigned left = static_cast<unsigned>(given.size()); left > 0; --left) {
        EXPECT_EQ(given.erase(acquire(class_of_48, left % heaps + 1)), 1u) << left << " were left";
    }
    EXPECT_EQ(acquire(class_of_48, 1), nullptr);
    EXPECT_EQ(global_->stock().empty_bytes(), 0u);
}

/// Else threads write to neighbouring descriptors all the time.
TEST_F(GlobalHeapTest, NewSuperblocksOfAHeapAreWhereItsThreadIsAtHome) {
    for (unsigned heap = 1; heap <= heaps; ++heap) {
        for (const unsigned c : {class_of_64, Classes::class_of(20_KiB)}) {
            EXPECT_EQ(Segment::of(fresh(c, heap))->stripe, RunHeap::home_of(heap));
        }
    }
    OwnerLine *const mine = given_up(class_of_64, 1, 1);
    free_one(mine);
    EXPECT_EQ(fresh(class_of_64, 2), mine) << "but what was used before comes first";
}

/// Memory grows where superblocks touch more of theirs, too.
TEST_F(GlobalHeapTest, WhatIsTouchedIsPaidWithWhatLiesFree) {
    std::vector<OwnerLine *> all;
    for (int i = 0; i < 200; ++i) {
        all.push_back(with_live(class_of_64, 1, 1));
    }
    for (OwnerLine *const s : all) {
        EXPECT_TRUE(global_->release(s, 1));
        free_one(s);
    }
    const std::size_t before = global_->free_bytes();
    ASSERT_GT(before, 10_MiB);
    global_->pay(1_MiB);
    EXPECT_LE(global_->free_bytes(), before - 1_MiB);
    EXPECT_GE(global_->free_bytes(), before / 2);
    for (int i = 0; i < 20; ++i) {
        global_->pay(1_MiB);
    }
    const std::size_t kept = Global::Maker::kept.bytes(runs_.resident_bytes());
    EXPECT_LE(global_->free_bytes(), kept);
    EXPECT_GE(global_->free_bytes(), kept / 2) << "so much may always lie there, but for the rest of a run";
}

/// One that has touched a page is worth a page, not the 64 KiB that it spans.
TEST_F(GlobalHeapTest, EmptySuperblocksPayWithWhatTheyHaveTouched) {
    const auto empty = [&](unsigned count, unsigned pages) {
        std::vector<OwnerLine *> all;
        for (unsigned i = 0; i < count; ++i) {
            all.push_back(fresh(class_of_64, 1));
            for (unsigned page = 0; page < pages; ++page) {
                EXPECT_TRUE(superblock::carve(all.back()));
            }
        }
        for (OwnerLine *const s : all) {
            EXPECT_TRUE(global_->release(s, 1));
        }
    };
    empty(200, 1);
    auto &stock = global_->stock();
    ASSERT_GT(stock.empty_bytes(), 10_MiB);
    ASSERT_LT(stock.empty_touched(), 1_MiB);
    std::size_t before = stock.empty_touched();
    global_->pay(2_MiB);
    EXPECT_EQ(stock.empty_touched(), before) << "that little may lie there";

    empty(400, 16);
    before = stock.empty_touched();
    const std::size_t spans = stock.empty_bytes();
    ASSERT_GT(before, 20_MiB);
    const std::size_t resident = runs_.resident_bytes();
    const auto purged = [this] {
        Statistics now;
        runs_.statistics(now);
        return now.purged;
    };
    const std::size_t purged_before = purged();
    global_->pay(2_MiB);
    EXPECT_EQ(purged() - purged_before, before - stock.empty_touched());
    EXPECT_LE(stock.empty_touched(), before - 2_MiB);
    EXPECT_GE(stock.empty_touched(), before - 3_MiB);
    EXPECT_EQ(resident - runs_.resident_bytes(), spans - stock.empty_bytes()) << "they are clean runs now";
    EXPECT_EQ(runs_.dirty_bytes(), 0u);
}

TEST_F(GlobalHeapTest, WhatHasItsLastBlocksInTheRemoteListIsEmpty) {
    OwnerLine *const s = with_live(class_of_48, 1, 3);
    while (!blocks_[s].empty()) {
        free_one(s);
    }
    EXPECT_TRUE(global_->release(s, 1));
    EXPECT_EQ(global_->stock().empty_bytes(), slot_size);
    EXPECT_EQ(s->live(), 0u);
    EXPECT_EQ(remote_of(s)->word.load(), 0u);
}

TEST_F(GlobalHeapTest, WhatAHeapGaveUpItGetsBackTheFullestFirst) {
    const unsigned capacity = slot_size / 48;
    OwnerLine *const little = given_up(class_of_48, 1, 1);
    OwnerLine *const most = given_up(class_of_48, 1, capacity - 1);
    OwnerLine *const half = given_up(class_of_48, 1, capacity / 2);
    OwnerLine *const full = given_up(class_of_48, 1, capacity);
    OwnerLine *const other = given_up(class_of_64, 1, 1);
    for (OwnerLine *s : {little, most, half, full, other}) {
        expect_owner(s, 0);
    }
    EXPECT_EQ(global_->counters().to_global, 5u);
    EXPECT_EQ(acquire(class_of_48, 1), most);
    EXPECT_EQ(acquire(class_of_48, 1), half);
    EXPECT_EQ(acquire(class_of_48, 1), little);
    EXPECT_EQ(acquire(class_of_48, 1), nullptr) << "the full one has no room";
    EXPECT_EQ(acquire(class_of_64, 1), other);
    EXPECT_EQ(global_->counters().from_global, 4u);
    EXPECT_EQ(little->live(), 1u);
    EXPECT_EQ(most->live(), capacity - 1);
}

TEST_F(GlobalHeapTest, AStrangersSuperblockIsHandedOutWhereNoLineIsShared) {
    OwnerLine *const s = given_up(class_of_64, 1, 1);
    EXPECT_EQ(acquire(class_of_64, 2), s) << "blocks of whole cache lines";
}

TEST_F(GlobalHeapTest, OtherwiseOnlyWhenMoreLiesFreeThanTheSlackOfAllHeaps) {
    const std::size_t free_of_one = slot_size - 48;
    const std::size_t slack = heaps * Discipline::slack;
    std::size_t free_bytes = 0;
    std::size_t given = 0;
    for (; free_bytes <= slack; free_bytes += free_of_one) {
        EXPECT_EQ(acquire(class_of_48, 2), nullptr) << free_bytes;
        given_up(class_of_48, 1, 1);
        ++given;
    }
    std::size_t taken = 0;
    while (acquire(class_of_48, 2) != nullptr) {
        ++taken;
        free_bytes -= free_of_one;
    }
    EXPECT_EQ(taken, 1u) << "of " << given;
    EXPECT_LE(free_bytes, slack);
    EXPECT_NE(acquire(class_of_48, 1), nullptr) << "its own as ever";
    global_->stock().heaps().closed(); // less slack for all
    EXPECT_NE(acquire(class_of_48, 2), nullptr);
}

TEST_F(GlobalHeapTest, RemoteFreesEmptyASuperblockThatNobodyHolds) {
    for (const unsigned c : {0u, class_of_48, Classes::class_of(8_KiB), Classes::class_of(60_KiB)}) {
        const unsigned capacity =
            static_cast<unsigned>(Global::Maker::slots_of_class(c) * slot_size / Classes::size_of(c));
        for (const unsigned live : {1u, 2u, 5u, 8u, 200u}) {
            if (live > capacity || (live > 8 && Classes::size_of(c) > 300)) {
                continue;
            }
            OwnerLine *const s = given_up(c, 1, live);
            for (unsigned left = live; left > 0; --left) {
                ASSERT_EQ(kind(s), SlotKind::superblock) << left << " of " << live;
                EXPECT_EQ(free_one(s), nullptr) << "no heap to be told";
            }
            EXPECT_EQ(global_->stock().empty_bytes(), span_of(s)) << "known to be empty with the last block";
            EXPECT_EQ(acquire(c, 3), s) << "whoever asks";
            EXPECT_EQ(s->live(), 0u);
            EXPECT_TRUE(global_->release(s, 3));
            global_->make_room(SIZE_MAX);
            EXPECT_EQ(kind(s), SlotKind::free_dirty);
            EXPECT_EQ(superblocks(), 0u);
        }
    }
}

TEST_F(GlobalHeapTest, AFullOneIsOfferedAgainAfterAStepOfFrees) {
    const unsigned capacity = slot_size / 64;
    OwnerLine *const s = given_up(class_of_64, 1, capacity);
    EXPECT_EQ(acquire(class_of_64, 1), nullptr);
    for (unsigned i = 0; i < Discipline::remote_step_of(capacity); ++i) {
        free_one(s);
    }
    EXPECT_EQ(acquire(class_of_64, 1), s);
    EXPECT_EQ(s->live(), blocks_[s].size());
}

TEST_F(GlobalHeapTest, FreesBetweenTwoOwnersAreNotLost) {
    OwnerLine *const s = given_up(class_of_64, 1, 50);
    for (int i = 0; i < 3; ++i) {
        free_one(s);
    }
    EXPECT_EQ(acquire(class_of_64, 2), s);
    EXPECT_EQ(superblock::live_now(s), 47u);
    free_one(s);
    EXPECT_TRUE(global_->release(s, 2));
    EXPECT_EQ(acquire(class_of_64, 3), s);
    EXPECT_EQ(superblock::live_now(s), 46u) << "what came last is counted too";
}

TEST_F(GlobalHeapTest, TheOwnerLooksForOthersFreesWhenThereWereAny) {
    OwnerLine *const s = with_live(class_of_64, 2, 100);
    EXPECT_FALSE(s->freed_by_others.load());
    free_one(s);
    EXPECT_TRUE(s->freed_by_others.load());
    EXPECT_TRUE(shared_of(s)->freed_by_others.load())
        << "who frees the next one leaves the owner's line alone";
    EXPECT_EQ(superblock::live_now(s), 99u);
    s->freed_by_others.store(false); // it does not see it yet
    EXPECT_EQ(superblock::live_now(s), 100u) << "the remote line is not looked at";
    Notices<Discipline>::acknowledge(s);
    EXPECT_EQ(superblock::live_now(s), 99u) << "a notice tells as much";
    while (!blocks_[s].empty()) {
        free_one(s);
    }
    global_->change_class(s, class_of_48, 2, mark(2));
    EXPECT_FALSE(s->freed_by_others.load()) << "of those that freed the blocks it had before nobody is left";
    EXPECT_FALSE(shared_of(s)->freed_by_others.load());
}

TEST_F(GlobalHeapTest, TheOwnerIsToldOnceAStep) {
    OwnerLine *const s = with_live(class_of_64, 2, 500);
    const unsigned step = Discipline::remote_step_of(shared_of(s)->capacity);
    const std::uintptr_t own_list = s->free;
    const auto remote = [s] { return RemoteWord{remote_of(s)->word.load()}; };
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 1; i < step; ++i) {
            EXPECT_EQ(free_one(s), nullptr);
        }
        EXPECT_EQ(free_one(s), &inboxes_[2]);
        EXPECT_EQ(free_one(s), nullptr) << "told already";
        EXPECT_TRUE(inboxes_[1].empty() && inboxes_[3].empty());
        EXPECT_EQ(inboxes_[2].take(), s);
        const std::uint64_t first = remote().head_offset();
        Global::Notice::acknowledge(s);
        EXPECT_FALSE(remote().queued());
        EXPECT_EQ(superblock::live_now(s), blocks_[s].size());
        EXPECT_EQ(remote().count(), (round + 1) * (step + 1)) << "the blocks stay where they are";
        EXPECT_EQ(remote().head_offset(), first);
        EXPECT_EQ(s->free, own_list);
    }
}

TEST_F(GlobalHeapTest, AnInboxHoldsManyNotices) {
    std::set<OwnerLine *> told;
    for (int i = 0; i < 10; ++i) {
        OwnerLine *const s = with_live(class_of_64, 2, 500);
        while (free_one(s) == nullptr) {
        }
        told.insert(s);
    }
    for (OwnerLine *s = inboxes_[2].take(); s != nullptr; s = remote_of(s)->pending_next.load()) {
        EXPECT_EQ(told.erase(s), 1u);
    }
    EXPECT_TRUE(told.empty());
    EXPECT_TRUE(inboxes_[2].empty());
}

TEST_F(GlobalHeapTest, WithANoticeUnderWayNothingIsGivenUp) {
    OwnerLine *const s = with_live(class_of_64, 2, Discipline::remote_step_of(slot_size / 64) + 3);
    while (free_one(s) == nullptr) {
    }
    const std::uint16_t notify = remote_of(s)->notify.load();
    EXPECT_FALSE(global_->release(s, 2));
    Global::Notice::own(s, mark(2));
    expect_owner(s, 2);
    EXPECT_EQ(remote_of(s)->notify.load(), notify);
    EXPECT_EQ(s->live() - RemoteWord{remote_of(s)->word.load()}.count(), blocks_[s].size());
    EXPECT_EQ(acquire(class_of_64, 2), nullptr);
    EXPECT_EQ(inboxes_[2].take(), s);
    remote_of(s)->word.fetch_and(RemoteWord::owner_mask);
    EXPECT_TRUE(global_->release(s, 2));
    expect_owner(s, 0);
}

TEST_F(GlobalHeapTest, ANoticeFollowsTheSuperblockToItsNewOwner) {
    OwnerLine *const s = given_up(class_of_64, 1, 500);
    superblock::RemoteFree told;
    while (!told.is_notice()) {
        told = superblock::free_remote(s, blocks_[s].back());
        blocks_[s].pop_back();
    }
    EXPECT_EQ(told.word.owner(), 0u);
    ASSERT_EQ(acquire(class_of_64, 3), s); // before the notice is there
    EXPECT_EQ(global_->notice(s, told.word), &inboxes_[3]);
    EXPECT_EQ(inboxes_[3].take(), s);
}

TEST_F(GlobalHeapTest, WhatIsFreeIsCountedOnceHoweverOftenItIsLookedAt) {
    const unsigned capacity = slot_size / 48;
    std::vector<OwnerLine *> all;
    std::size_t free_bytes = 0;
    for (int i = 0; i < 5; ++i) {
        all.push_back(given_up(class_of_48, 1, capacity));
        for (unsigned freed = 0; freed < capacity - 60; ++freed) {
            free_one(all.back());
        }
        free_bytes += slot_size - 60 * 48;
    }
    ASSERT_LT(free_bytes, heaps * Discipline::slack);
    EXPECT_EQ(acquire(class_of_48, 2), nullptr) << "a stranger's";
    EXPECT_NE(acquire(class_of_48, 1), nullptr);
}

TEST_F(GlobalHeapTest, OfAnEmptyOneTheNewOwnerIsToldAfterAStep) {
    OwnerLine *const s = given_up(class_of_64, 1, 0);
    ASSERT_EQ(acquire(class_of_64, 2), s);
    const unsigned step = Discipline::remote_step_of(shared_of(s)->capacity);
    for (unsigned i = 0; i < step; ++i) {
        blocks_[s].push_back(address_of(superblock::pop(s, span_of(s))));
    }
    while (blocks_[s].size() > 1) {
        EXPECT_EQ(free_one(s), nullptr);
    }
    EXPECT_EQ(free_one(s), &inboxes_[2]);
}

/// As many were freed as were live, one of them twice: the counts say that none is live.
TEST_F(GlobalHeapTest, MemoryWithALiveBlockIsPutToNoOtherUse) {
    const auto empty_by_count = [&] {
        OwnerLine *const s = with_live(class_of_48, 1, 0);
        superblock::word_of(memory_of(s) + 480) = 0;
        return s;
    };
    const char *const line = "double free or heap corruption: .* is not free";
    OwnerLine *const mine = empty_by_count();
    EXPECT_DEATH(global_->change_class(mine, class_of_64, 1, mark(1)), line) << "another class";
    std::vector<OwnerLine *> all(200);
    for (OwnerLine *&s : all) {
        s = empty_by_count();
    }
    for (OwnerLine *const s : all) {
        EXPECT_TRUE(global_->release(s, 1));
    }
    EXPECT_DEATH(global_->make_from_empty(class_of_64, 2, mark(2)), line)
        << "another class, and another heap";
    EXPECT_DEATH(global_->make_room(SIZE_MAX), line) << "a run";
    EXPECT_DEATH(global_->pay(10_MiB), line) << "the operating system's";
}

TEST_F(GlobalHeapTest, AnEmptySuperblockIsFormattedForAnotherClass) {
    OwnerLine *const s = with_live(class_of_48, 1, 0);
    const std::uint64_t secret = s->cookie;
    global_->change_class(s, class_of_64, 1, mark(1));
    EXPECT_EQ(shared_of(s)->block_size, 64u);
    EXPECT_EQ(s->carved, 0u);
    EXPECT_NE(s->cookie, secret);
    EXPECT_EQ(s->touched, slot_size) << "it was touched";
    expect_owner(s, 1);
}

OwnerLine *given_back = nullptr;

/// Its links and signatures are gone, and its slot still says that it is a superblock: the child would take its blocks
/// for live ones, and end where it cuts the next ones.
TEST_F(GlobalHeapTest, AForkWhileAnEmptySuperblockIsGivenBackFindsNoBlock) {
    given_back = with_live(class_of_64, 1, 0);
    superblock::carve_again(given_back);
    superblock::carve(given_back);
    ASSERT_LT(given_back->carved, shared_of(given_back)->marked);
    const auto give_back_until_its_slot_is_free = [this] {
        std::signal(SIGSEGV, [](int) {
            superblock::recount(given_back);
            const bool is_empty = given_back->live() == 0;
            while (superblock::carve(given_back)) {
            }
            _exit(is_empty ? 0 : 1);
        });
        const std::size_t page = platform::vm::page_size();
        const std::uintptr_t kinds = address_of(Segment::of(given_back)->kinds);
        mprotect(reinterpret_cast<void *>(align_down(kinds, page)), page, PROT_READ);
        global_->maker().purge(given_back);
        _exit(2);
    };
    EXPECT_EXIT(give_back_until_its_slot_is_free(), testing::ExitedWithCode(0), "");
}

TEST_F(GlobalHeapTest, AfterAForkItAdoptsWhatNobodyHolds) {
    OwnerLine *const partly = with_live(class_of_64, 1, 50);
    OwnerLine *const empty = with_live(class_of_64, 2, 0);
    global_->reset_after_fork();
    for (OwnerLine *s : {partly, empty}) {
        global_->orphan(s);
    }
    expect_owner(partly, 0);
    EXPECT_EQ(superblocks(), 2u) << "nothing is looked at before it is needed";
    EXPECT_EQ(acquire(class_of_64, 3), partly);
    EXPECT_EQ(partly->live(), 50u);
    EXPECT_EQ(superblocks(), 1u);
}

TEST_F(GlobalHeapTest, AfterAForkNothingCountsThatWasThereBefore) {
    OwnerLine *last = nullptr;
    for (std::size_t bytes = 0; bytes <= heaps * Discipline::slack + slot_size; bytes += slot_size) {
        last = given_up(class_of_48, 1, 1);
    }
    for (unsigned i = 0; i < heaps; ++i) { // as many as a stranger gets one of
        OwnerLine *const uncarved = fresh(class_of_48, 1);
        superblock::carve(uncarved);
        superblock::pop(uncarved, slot_size);
        EXPECT_TRUE(global_->release(uncarved, 1));
    }
    global_->reset_after_fork();
    EXPECT_EQ(global_->stock().heaps().together(1), 0u);
    for (unsigned i = 0; i < heaps; ++i) {
        global_->stock().heaps().opened();
    }
    global_->orphan(last);
    EXPECT_EQ(acquire(class_of_48, 2), nullptr) << "little lies free, and it is a stranger's";
}

TEST_F(GlobalHeapTest, RandomSequencesAgreeWithTheModel) {
    struct Superblock {
        unsigned holder; // 0: the global heap
        std::vector<std::uintptr_t> live;
    };
    std::map<OwnerLine *, Superblock> model;
    std::mt19937_64 random(9);
    const auto any_of = [&](auto &&wanted) -> OwnerLine * {
        std::vector<OwnerLine *> all;
        for (const auto &[s, what] : model) {
            if (wanted(what)) {
                all.push_back(s);
            }
        }
        return all.empty() ? nullptr : all[random() % all.size()];
    };
    const auto held = [](const Superblock &s) { return s.holder != 0; };
    const auto with_blocks = [](const Superblock &s) { return !s.live.empty(); };
    for (int step = 0; step < 20000; ++step) {
        const auto heap = static_cast<unsigned>(1 + random() % heaps);
        const unsigned c =
            std::array{0u, class_of_48, Classes::class_of(1_KiB), Classes::class_of(16_KiB)}[random() % 4];
        switch (random() % 10) {
        case 0:
            if (model.size() < 40) {
                OwnerLine *const s = fresh(c, heap);
                ASSERT_TRUE(!model.contains(s) || (model[s].holder == 0 && model[s].live.empty()))
                    << "somebody has it already";
                model[s] = {heap, {}};
            }
            break;
        case 1:
            if (OwnerLine *const s = any_of(held)) {
                ASSERT_TRUE(global_->release(s, model[s].holder));
                model[s].holder = 0;
            }
            break;
        case 2:
        case 3:
            if (OwnerLine *const s = acquire(c, heap)) {
                ASSERT_TRUE(model.contains(s) && model[s].holder == 0) << "not the global heap's to give";
                model[s].holder = heap;
            }
            break;
        case 4:
        case 5:
            for (OwnerLine *const s = any_of(held); s != nullptr && random() % 20 != 0;) {
                if (superblock::is_end(s->free) && !superblock::carve(s)) {
                    break;
                }
                model[s].live.push_back(address_of(superblock::pop(s, span_of(s))));
            }
            break;
        default:
            for (OwnerLine *const s = any_of(with_blocks);
                 s != nullptr && !model[s].live.empty() && random() % 20 != 0;) {
                const std::uintptr_t block = model[s].live.back();
                model[s].live.pop_back();
                const superblock::RemoteFree told = superblock::free_remote(s, block);
                const unsigned holder = model[s].holder;
                Inbox *const inbox = told.is_notice() ? global_->notice(s, told.word) : nullptr;
                ASSERT_EQ(inbox, told.is_notice() && holder != 0 ? &inboxes_[holder] : nullptr);
                if (inbox != nullptr) {
                    ASSERT_EQ(inbox->take(), s);
                    Global::Notice::acknowledge(s);
                }
            }
        }
        std::erase_if(model, [](const auto &entry) { // what was kept empty for a while
            return entry.second.holder == 0 && entry.second.live.empty() &&
                   kind(entry.first) != SlotKind::superblock;
        });
        for (const auto &[s, what] : model) {
            expect_owner(s, what.holder);
            ASSERT_EQ(s->live() - RemoteWord{remote_of(s)->word.load()}.count(), what.live.size());
        }
        ASSERT_EQ(superblocks(), model.size());
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace
