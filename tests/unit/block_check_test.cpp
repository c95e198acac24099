// SPDX-License-Identifier: MIT
//
// Block check: the answer for every kind of pointer, and one clear line for each that is not a live block.
#include "window.hpp"

#include <cairn/superblock/block_check.hpp>
#include <cairn/superblock/carving.hpp>
#include <cairn/superblock/remote_free.hpp>
#include <cairn/superblock/remote_list.hpp>

#include <gtest/gtest.h>

using namespace cairn;
using namespace cairn::superblock;

namespace {

constexpr unsigned medium_slots = 8;
constexpr std::size_t block_size = 48;

class BlockCheck : public testing::Test {
protected:
    /// Slot 2: a superblock of one slot. 8 to 15: one of eight. 20 to 22: a large block. 30: free. 31: the same.
    BlockCheck() : window_(40), small_(make(2, 1, block_size)), medium_(make(8, medium_slots, 9_KiB)) {
        make_large(20);
        segment().set_kinds(21, 2, SlotKind::large_tail);
        segment().set_kinds(30, 1, SlotKind::free_dirty);
        segment().set_kinds(31, 1, SlotKind::free_clean);
    }

    OwnerLine *make(unsigned slot, unsigned slots, std::size_t size) {
        OwnerLine *const s = window_.run(slot, slots);
        format(s, 1, size, 0, 0xfedcba9876543210, 0);
        remote_of(s)->notify.store(UINT16_MAX);
        segment().set_kinds(slot, 1, SlotKind::superblock);
        segment().set_kinds(slot + 1, slots - 1, SlotKind::tail);
        carve(s);
        return s;
    }

    void make_large(unsigned slot) {
        segment().set_kinds(slot, 1, SlotKind::large);
        segment().set_large_block(slot, Segment::live);
        segment().shared_lines[slot].first_block = segment().address_of_slot(slot);
    }

    Segment &segment() const { return window_.segment(); }
    void *at(unsigned slot, std::size_t offset = 0) const {
        return reinterpret_cast<void *>(segment().address_of_slot(slot) + offset);
    }
    void *pop_one(OwnerLine *s) { return pop(s, span_of(s)); }

    void expect_found(const void *p, Found::Kind kind, const OwnerLine *line) {
        const Found found = find(p, "free of");
        EXPECT_EQ(found.kind, kind) << p;
        EXPECT_EQ(found.line, line) << p;
    }
    static void expect_death(const void *p, const char *why) {
        EXPECT_DEATH(find(p, "free of"), std::string("^cairn: invalid pointer: free of ") + why);
    }

    test::Window window_;
    OwnerLine *small_;
    OwnerLine *medium_;
};

TEST_F(BlockCheck, FindsTheSuperblockFromAnyOfItsBytes) {
    expect_found(at(2), Found::block, small_);
    expect_found(at(2, 65535), Found::block, small_);
    for (unsigned slot = 8; slot < 16; ++slot) {
        expect_found(at(slot, 100), Found::block, medium_);
    }
}

TEST_F(BlockCheck, FindsALargeBlockAtItsStartAlone) {
    expect_found(at(20), Found::large, &segment().owner_lines[20]);
    const char *const inside = "0x[0-9a-f]+, which is inside a large block, not its start";
    expect_death(at(20, 1), inside);
    expect_death(at(20, 4096), inside);
    const char *const behind =
        "0x[0-9a-f]+, which is inside a large block, not its start, or is a cairn_heap's";
    expect_death(at(21), behind);
    expect_death(at(22, 65535), behind);

    segment().set_large_block(20, Segment::dead); // freed, and kept for who has freed it
    const char *const free = "0x[0-9a-f]+, which is in free memory: freed twice, or never allocated";
    expect_death(at(20), free);
    expect_death(at(20, 1), free);
}

TEST_F(BlockCheck, QuicklyFindsALiveLargeBlockAndNothingElse) {
    const auto found = [&](const void *p) {
        return quick_find_large(shared_line_at(address_of(p)), address_of(p));
    };
    EXPECT_EQ(found(at(20)), &segment().owner_lines[20]);
    for (const void *const other :
         {at(20, 64), at(20, 65535), at(21), at(22), at(30), at(31), at(39), at(0)}) {
        EXPECT_EQ(found(other), nullptr) << other;
    }
    for (const OwnerLine *const s :
         {small_, medium_}) { // a superblock's first block, where a large one would begin
        EXPECT_EQ(found(reinterpret_cast<const void *>(blocks_of(s))), nullptr);
    }
    segment().set_large_block(20, Segment::dead);
    EXPECT_EQ(found(at(20)), nullptr);
}

TEST_F(BlockCheck, FindsNoLargeBlockThatIsHidden) {
    segment().set_large_block(20, Segment::hidden);
    EXPECT_EQ(quick_find_large(shared_line_at(address_of(at(20))), address_of(at(20))), nullptr);
    expect_death(at(20), "0x[0-9a-f]+, which is a cairn_heap's");
    expect_death(at(20, 16), "0x[0-9a-f]+, which is inside a large block, not its start");
}

TEST_F(BlockCheck, FindsHugeBlocksByTheirWindow) {
    char *const above = reinterpret_cast<char *>(&segment()) + window_size;
    WindowMap::set(above, WindowKind::huge);
    expect_found(above, Found::huge, nullptr);
    expect_found(above + 12345, Found::huge, nullptr);
    WindowMap::set(above, WindowKind::foreign);
}

TEST_F(BlockCheck, AnythingElseEndsTheProgram) {
    const int on_the_stack = 0;
    const char *const foreign = "0x[0-9a-f]+, which is not in this heap";
    expect_death(&on_the_stack, foreign);
    expect_death(nullptr, "0x0, which is not in this heap");
    expect_death(reinterpret_cast<void *>(1), foreign);
    expect_death(reinterpret_cast<void *>(UINTPTR_MAX), foreign);
    expect_death(reinterpret_cast<void *>(std::uintptr_t{1} << 63), foreign);
    expect_death(reinterpret_cast<char *>(&segment()) - 1, foreign);
    expect_death(&segment(), "0x[0-9a-f]+, where no block is");
    expect_death(at(1, 65535), "0x[0-9a-f]+, where no block is");
    expect_death(at(40), "0x[0-9a-f]+, where no block is");
    expect_death(at(511, 65535), "0x[0-9a-f]+, where no block is");
    for (const unsigned slot : {30u, 31u, 32u}) {
        expect_death(at(slot), "0x[0-9a-f]+, which is in free memory: freed twice, or never allocated");
    }
}

TEST_F(BlockCheck, ALiveBlockPasses) {
    for (OwnerLine *s : {small_, medium_}) {
        void *const p = pop_one(s);
        check_live(s, p, "free of");
        // Nor does a program's data look like a link; if by chance it does, the lists know better.
        word_of(address_of(p)) = memory_of(s) ^ s->cookie;
        check_live(s, p, "free of");
    }
}

TEST_F(BlockCheck, OnlyTheStartOfABlockIsOne) {
    const std::string start =
        "invalid pointer: realloc of 0x[0-9a-f]+, which is not the start of a block of size "
        "class 48 that was ever allocated";
    for (const std::size_t inside : {1, 8, 16, 47}) {
        EXPECT_DEATH(check_live(small_, at(2, inside), "realloc of"), start) << inside;
    }
    const std::size_t carved = superblock::published(shared_of(small_)) * shared_of(small_)->block_size;
    EXPECT_DEATH(check_live(small_, at(2, carved), "realloc of"), start) << "never handed out";
    EXPECT_DEATH(check_live(medium_, at(9), "free of"),
                 "which is not the start of a block of size class 9216");
}

TEST_F(BlockCheck, AFreeBlockIsADoubleFree) {
    for (OwnerLine *s : {small_, medium_}) {
        remote_of(s)->word.store(RemoteWord::owned_by(1));
    }
    void *const a = pop_one(small_);
    void *const b = pop_one(small_);
    void *const c = pop_one(small_);
    const char *const twice = "double free: free of 0x[0-9a-f]+, a free block of size class 48";
    push(small_, address_of(a));
    EXPECT_DEATH(check_live(small_, a, "free of"), twice) << "the first of the list";
    push(small_, address_of(b));
    EXPECT_DEATH(check_live(small_, a, "free of"), twice) << "behind it";
    EXPECT_DEATH(check_live(small_, at(2, 3 * block_size), "free of"), twice) << "carved, never handed out";
    check_live(small_, c, "free of");
    free_remote(small_, address_of(c));
    EXPECT_DEATH(check_live(small_, c, "free of"), twice) << "freed by another thread";
}

TEST_F(BlockCheck, TheQuickLookFindsLiveBlocks) {
    for (OwnerLine *s : {small_, medium_}) {
        const auto own = [s](std::uintptr_t owner) { set_owner(s, reinterpret_cast<void *>(owner)); };
        const std::size_t size = shared_of(s)->block_size;
        while (carve(s)) {
        }
        const std::uintptr_t last = memory_of(s) + (shared_of(s)->capacity - 1u) * size;
        while (!is_end(s->free)) {
            pop_one(s);
        }
        EXPECT_EQ(quick_find(memory_of(s)), s) << "in no heap";
        EXPECT_EQ(quick_find(last), s);
        for (const std::uintptr_t heap : {0x1000, 0x1001}) {
            if (heap % 2 == 0 && s == medium_) {
                continue; // Notices::encode_owner
            }
            own(heap);
            EXPECT_EQ(quick_find(memory_of(s)), s);
            EXPECT_EQ(quick_find(memory_of(s) + size), s);
            EXPECT_EQ(quick_find(last), s);
            EXPECT_EQ(quick_find(last + 16), nullptr) << "no start";
        }
        own(0x1000 | no_thread_heap);
        EXPECT_EQ(quick_find(last), nullptr) << "a first-class heap's";
        own(0x1001);
        EXPECT_EQ(quick_find(last), s);
        push(s, last);
        EXPECT_EQ(quick_find(last), nullptr) << "free";
        push(s, memory_of(s));
        own(0);
        EXPECT_EQ(quick_find(memory_of(s)), nullptr) << "free, in no heap";
        EXPECT_EQ(quick_find(memory_of(s) + 16), nullptr) << "no start";
    }
    EXPECT_EQ(quick_find(address_of(at(20))), nullptr) << "a large block";
    EXPECT_EQ(quick_find(address_of(&segment()) - slot_size), nullptr) << "not in this heap";
}

TEST_F(BlockCheck, WhatALongSuperblockLeavesBehindLeadsNowhere) {
    OwnerLine *const short_one = make(8, 1, block_size);
    OwnerLine *const inside = make(12, 1, block_size);
    shared_of(short_one)->owner = shared_of(inside)->owner = reinterpret_cast<void *>(0x1000);
    make_large(9);
    for (OwnerLine *s : {short_one, inside}) {
        while (carve(s)) {
        }
        while (!is_end(s->free)) {
            pop_one(s);
        }
    }
    expect_found(at(12), Found::block, inside);
    EXPECT_EQ(quick_find(address_of(at(12))), inside);
    for (const unsigned slot : {9u, 10u, 15u}) {
        for (std::size_t offset = 0; offset < slot_size; offset += 8) {
            ASSERT_EQ(quick_find(address_of(at(slot, offset))), nullptr) << slot << ' ' << offset;
        }
    }
    expect_found(at(9), Found::large, &segment().owner_lines[9]);
}

TEST_F(BlockCheck, TheLastOfAListIsKnownToo) {
    while (!is_end(small_->free)) {
        pop_one(small_);
    }
    push(small_, memory_of(small_));
    EXPECT_DEATH(check_live(small_, at(2), "free of"), "double free");
    collect(small_);
    pop_one(small_);
    free_remote(small_, memory_of(small_));
    EXPECT_DEATH(check_live(small_, at(2), "free of"), "double free");
}

} // namespace
