// SPDX-License-Identifier: MIT
//
// Superblock: carving, popping, pushing and taking in remote frees against a model; the marks by which misuse is
// known.
#include "window.hpp"

#include <cairn/superblock/recount.hpp>
#include <cairn/superblock/remote_free.hpp>
#include <cairn/superblock/renewal.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <set>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace cairn;
using namespace cairn::superblock;

namespace {

struct Shape {
    std::size_t block_size;
    unsigned slots;
    std::size_t shift = 0; ///< bytes before the first block
};
void PrintTo(const Shape &shape, std::ostream *out) {
    *out << shape.block_size << " bytes in " << shape.slots << " slots, from " << shape.shift << " on";
}

/// What the superblock should know.
class SuperblockTest : public testing::TestWithParam<Shape> {
protected:
    SuperblockTest() { make(true); }

    void make(bool clean, std::uint64_t random = 0x1234567890abcdef) {
        const auto [block_size, slots, shift] = GetParam();
        s_ = window_.run(8, slots);
        format(s_, 7, block_size, shift, random, clean ? 0 : static_cast<std::uint32_t>(span_of(s_)));
        free_.clear();
        live_.clear();
        shared_ = shared_of(s_);
        remote_of(s_)->notify.store(UINT16_MAX);
        shared_->step = 2;
        remote_of(s_)->word.store(RemoteWord::owned_by(3));
        memory_ = memory_of(s_);
        blocks_ = memory_ + shift;
    }

    bool carve_next() {
        const std::uint32_t before = s_->carved;
        const bool any = carve(s_);
        for (std::uint32_t i = before; i < s_->carved; ++i) {
            free_.insert(blocks_ + i * GetParam().block_size);
        }
        return any;
    }

    std::uintptr_t pop_next() {
        const auto block = address_of(pop(s_, span_of(s_)));
        EXPECT_EQ(free_.erase(block), 1u) << "handed out, but not free";
        EXPECT_TRUE(live_.insert(block).second) << "handed out twice";
        return block;
    }

    void expect_accounts() {
        const RemoteWord remote{remote_of(s_)->word.load()};
        ASSERT_EQ(s_->live() - remote.count(), live_.size());
        ASSERT_EQ(s_->carved, live_.size() + free_.size() + remote.count());
        ASSERT_EQ(is_end(s_->free), free_.empty());
    }

    test::Window window_;
    OwnerLine *s_ = nullptr;
    SharedLine *shared_ = nullptr;
    std::uintptr_t memory_ = 0;
    std::uintptr_t blocks_ = 0; ///< the first one
    std::set<std::uintptr_t> free_;
    std::set<std::uintptr_t> live_;
};

TEST_P(SuperblockTest, IsCutAnewInOrderOfAddress) {
    std::vector<std::uintptr_t> blocks;
    while (carve_next()) {
        while (!free_.empty()) {
            blocks.push_back(pop_next());
        }
    }
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7));
    for (const std::uintptr_t block : blocks) {
        push(s_, block);
    }
    carve_again(s_);
    EXPECT_EQ(s_->live(), 0u);
    EXPECT_FALSE(is_block_start(shared_, 0)) << "none is cut";
    live_.clear();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (is_end(s_->free)) {
            ASSERT_TRUE(carve_next());
        }
        ASSERT_EQ(pop_next(), blocks_ + i * GetParam().block_size);
    }
    EXPECT_FALSE(carve_next());
}

TEST_P(SuperblockTest, AListThatGoesInOrderIsKeptAnotherIsCutAnew) {
    std::vector<std::uintptr_t> blocks;
    while (carve_next()) {
        while (!free_.empty()) {
            blocks.push_back(pop_next());
        }
    }
    const auto renewed_after = [&](const std::vector<std::uintptr_t> &order) {
        for (const std::uintptr_t block : order) {
            push(s_, block);
        }
        live_.clear();
        carve_again_if_unordered(s_);
        EXPECT_EQ(s_->live(), 0u);
        const bool kept = !is_end(s_->free);
        free_ = {order.begin(), order.end()};
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (is_end(s_->free)) {
                EXPECT_TRUE(!kept && carve(s_));
            }
            pop_next();
        }
        EXPECT_TRUE(is_end(s_->free));
        return kept;
    };
    EXPECT_TRUE(renewed_after(blocks)) << "in order of address";
    std::ranges::reverse(blocks);
    EXPECT_TRUE(renewed_after(blocks)) << "backwards";
    std::ranges::stable_partition(
        blocks, [&](std::uintptr_t b) { return (b - blocks_) / GetParam().block_size % 2; });
    EXPECT_FALSE(renewed_after(blocks)) << "every other one";
    if (blocks.size() >= 16) {
        std::ranges::sort(blocks);
        for (std::size_t i = 0; i + 3 <= blocks.size(); i += 3) {
            std::swap(blocks[i + 1], blocks[i]);
            std::swap(blocks[i + 1], blocks[i + 2]);
        }
        EXPECT_FALSE(renewed_after(blocks)) << "a tree that was taken down, each node after its leaves";
        std::ranges::shuffle(blocks, std::mt19937(7));
        EXPECT_FALSE(renewed_after(blocks));
        std::ranges::partition(
            blocks, [&](std::uintptr_t block) { return block >= blocks_ + 2 * GetParam().block_size; });
        EXPECT_FALSE(renewed_after(blocks)) << "the last two are neighbours";
    }
}

TEST_P(SuperblockTest, WhatOthersFreedIsInNoListAnyMore) {
    while (carve_next()) {
    }
    carve_again_if_incomplete(s_);
    EXPECT_FALSE(is_end(s_->free)) << "all in the list";
    pop_next();
    carve_again_if_incomplete(s_); // as if it had been freed, and counted
    EXPECT_TRUE(is_end(s_->free));
    EXPECT_EQ(s_->live(), 0u);
    EXPECT_EQ(s_->carved, 0u);
}

TEST_P(SuperblockTest, IsFormattedEmpty) {
    for (const bool clean : {true, false}) {
        make(clean);
        EXPECT_EQ(s_->live(), 0u);
        EXPECT_EQ(s_->carved, 0u);
        EXPECT_TRUE(is_end(s_->free));
        EXPECT_EQ(s_->touched, clean ? 0 : span_of(s_)) << "memory that is not clean counts as touched";
        EXPECT_EQ(shared_->capacity, span_of(s_) / GetParam().block_size);
        EXPECT_FALSE(is_block_start(shared_, 0)) << "nothing was handed out yet";
    }
}

TEST_P(SuperblockTest, CarvesEveryBlockOnceAndAPageAtATime) {
    std::uint32_t extent = 0;
    while (carve_next()) {
        const std::size_t carved = s_->carved * GetParam().block_size;
        EXPECT_EQ(published(shared_) * shared_->block_size, carved);
        const std::size_t end = GetParam().shift + carved;
        EXPECT_GE(s_->touched, end);
        EXPECT_LT(s_->touched - end, platform::smallest_page) << "no further than the page of the last block";
        EXPECT_TRUE(is_aligned(s_->touched, platform::smallest_page)) << "memory is touched by the page";
        const std::size_t step = std::max(GetParam().block_size, platform::smallest_page);
        EXPECT_LE(s_->touched - extent, step + platform::smallest_page);
        extent = s_->touched;
        while (!is_end(s_->free)) {
            pop_next();
        }
        expect_accounts();
    }
    EXPECT_EQ(live_.size(), shared_->capacity);
    EXPECT_LE(*live_.rbegin() + GetParam().block_size, memory_ + span_of(s_));
}

TEST_P(SuperblockTest, OfMemoryTouchedBeforeSeveralBlocksAreCutAtATime) {
    const std::size_t size = GetParam().block_size;
    const std::size_t page = align_up(size, platform::smallest_page) / size; // that the first block ends in
    const std::size_t several = std::min<std::size_t>(8, shared_->capacity);
    EXPECT_TRUE(carve_next());
    EXPECT_EQ(s_->carved, page) << "of fresh memory";
    carve_next();
    carve_next();
    const std::size_t touched = s_->touched / size;
    carve_again(s_);
    EXPECT_TRUE(carve_next());
    EXPECT_EQ(s_->carved, std::max(page, std::min(several, touched))) << "no further than was touched";

    make(false);
    EXPECT_TRUE(carve_next());
    EXPECT_EQ(s_->carved, std::max(page, several));
    while (carve_next()) {
    }
    EXPECT_EQ(s_->carved, shared_->capacity);
}

/// What a visitor does to a superblock that others can not use, before memory grows.
TEST_P(SuperblockTest, WhatIsNotCutYetCanBeGivenBack) {
    const std::size_t size = GetParam().block_size;
    while (carve_next()) {
    }
    carve_again(s_);
    free_.clear();
    carve_next();
    const std::size_t kept = align_up(GetParam().shift + s_->carved * size, platform::vm::page_size());
    drop_uncarved(s_);
    EXPECT_EQ(s_->touched, kept);
    EXPECT_LE(GetParam().shift + shared_->marked * size, kept + size)
        << "marks that are gone are not looked for";
    for (std::uintptr_t p = memory_ + kept; p < memory_ + span_of(s_); p += sizeof(std::uint64_t)) {
        ASSERT_EQ(*reinterpret_cast<const std::uint64_t *>(p), 0u);
    }
    while (carve_next()) {
    }
    EXPECT_EQ(s_->carved, shared_->capacity);
    while (!is_end(s_->free)) {
        pop_next();
    }
    expect_accounts();
}

TEST_P(SuperblockTest, WhatIsNotCutYetStaysWhereItIsLittle) {
    while (carve_next()) {
    }
    carve_again(s_);
    const std::uint32_t touched = s_->touched;
    const auto uncarved = [&] {
        const std::size_t end = GetParam().shift + s_->carved * GetParam().block_size;
        return touched - align_up(end, platform::vm::page_size());
    };
    while (carve_next() && uncarved() >= least_uncarved) {
    }
    drop_uncarved(s_);
    EXPECT_EQ(s_->touched, touched);
}

TEST_P(SuperblockTest, LittleIsNotGivenBackAndMisuseIsSeenBefore) {
    const std::size_t size = GetParam().block_size;
    while (carve_next() && s_->carved * size + 12_KiB < span_of(s_)) {
    }
    const std::uint32_t extent = s_->touched;
    drop_uncarved(s_);
    EXPECT_EQ(s_->touched, extent) << "it was never touched";
    while (carve_next()) {
    }
    carve_again(s_);
    carve_next();
    word_of(blocks_ + (shared_->capacity - 1u) * size) = 0; // as a block that is live
    if (s_->carved < shared_->capacity) {
        EXPECT_DEATH(drop_uncarved(s_), "double free or heap corruption");
    }
}

TEST_P(SuperblockTest, WhatWasTouchedBeforeStaysTouched) {
    make(false);
    carve(s_);
    EXPECT_EQ(s_->touched, span_of(s_));
}

TEST_P(SuperblockTest, BlocksOfAPageComeInRisingOrder) {
    carve_next();
    std::uintptr_t last = 0;
    while (!is_end(s_->free)) {
        const std::uintptr_t block = pop_next();
        EXPECT_GT(block, last);
        last = block;
    }
}

TEST_P(SuperblockTest, TheBlockFreedLastComesFirst) {
    carve_next();
    const std::uintptr_t block = pop_next();
    push(s_, block);
    EXPECT_EQ(address_of(pop(s_, span_of(s_))), block);
}

TEST_P(SuperblockTest, PushTellsOfTheBorder) {
    carve_next();
    carve_next();
    const std::uintptr_t first = pop_next();
    const std::uintptr_t second = pop_next();
    s_->check_at = 1;
    s_->frees_until_check = 1;
    EXPECT_TRUE(push(s_, first));
    EXPECT_FALSE(push(s_, second)) << "the border was passed, it tells once";
}

TEST_P(SuperblockTest, KnowsBlockStarts) {
    while (carve(s_)) {
    }
    const std::size_t size = GetParam().block_size;
    for (std::size_t offset = 0; offset < span_of(s_); ++offset) {
        const bool start = offset % size == 0 && offset / size < shared_->capacity;
        ASSERT_EQ(is_block_start(shared_, offset), start) << offset;
    }
}

TEST_P(SuperblockTest, WhatWasNeverCarvedIsNoBlock) {
    carve(s_);
    const std::size_t carved = s_->carved * GetParam().block_size;
    EXPECT_TRUE(is_block_start(shared_, carved - GetParam().block_size));
    EXPECT_FALSE(is_block_start(shared_, carved));
}

TEST_P(SuperblockTest, FreeBlocksLookFreeAndLiveOnesDoNot) {
    for (const std::uint64_t random :
         {std::uint64_t{0}, std::uint64_t{0x1234567890abcdef}, ~std::uint64_t{0}}) {
        make(true, random);
        while (carve_next()) {
        }
        const std::size_t span = span_of(s_);
        while (live_.size() < shared_->capacity) {
            const std::uintptr_t block = pop_next();
            ASSERT_FALSE(looks_free(block, shared_, span));
            ASSERT_FALSE(may_be_free(block, shared_));
            // What a program writes: its own numbers and pointers, also into the superblock.
            for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0} >> 1,
                                             std::uint64_t{block}, std::uint64_t{memory_}}) {
                word_of(block) = word;
                ASSERT_FALSE(looks_free(block, shared_, span)) << word;
                ASSERT_FALSE(may_be_free(block, shared_)) << word;
            }
            word_of(block) = shared_->key ^ 0x80000000;
            ASSERT_FALSE(looks_free(block, shared_, span)) << "by one half";
            ASSERT_TRUE(may_be_free(block, shared_));
        }
        for (const std::uintptr_t block : live_) {
            push(s_, block);
            ASSERT_TRUE(looks_free(block, shared_, span)) << "a second free has to be seen";
            ASSERT_TRUE(may_be_free(block, shared_));
        }
        for (const std::uintptr_t block : live_) {
            ASSERT_TRUE(looks_free(block, shared_, span)) << "wherever it is in the list";
            ASSERT_TRUE(may_be_free(block, shared_));
        }
    }
}

TEST_P(SuperblockTest, AWriteIntoAFreeBlockIsFoundWhenItIsPopped) {
    carve_next();
    const std::uintptr_t block = pop_next();
    for (const std::uint64_t damage : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{memory_},
                                       std::uint64_t{0x4141414141414141}, std::uint64_t{1}}) {
        push(s_, block);
        const std::uint64_t link = word_of(block);
        word_of(block) = damage;
        EXPECT_FALSE(can_pop(s_, span_of(s_)));
        EXPECT_DEATH(pop(s_, span_of(s_)), "heap corruption: free block 0x[0-9a-f]+ of size class [0-9]+ was "
                                           "written to after it was freed");
        word_of(block) = link;
        EXPECT_EQ(address_of(pop(s_, span_of(s_))), block);
    }
}

TEST_P(SuperblockTest, RemoteFreesAreTakenInOnceAndWhole) {
    carve_next();
    while (!is_end(s_->free)) {
        pop_next();
    }
    for (const std::uintptr_t block : live_) {
        EXPECT_FALSE(free_remote(s_, block).is_notice()) << "nobody asked to be told";
        EXPECT_TRUE(looks_free(block, shared_, span_of(s_)));
    }
    EXPECT_TRUE(has_remote_frees(s_));
    EXPECT_EQ(s_->live(), live_.size()) << "the owner does not know yet";
    std::swap(free_, live_);
    collect(s_);
    EXPECT_FALSE(has_remote_frees(s_));
    EXPECT_EQ(RemoteWord{remote_of(s_)->word.load()}.owner(), 3u) << "the owner stays";
    expect_accounts();
    while (!is_end(s_->free)) {
        pop_next();
    }
    EXPECT_TRUE(free_.empty());
}

TEST_P(SuperblockTest, TheRemoteFreeThatReachesTheThresholdIsTheOneToTell) {
    for (int i = 0; i < 8 && carve_next(); ++i) {
    }
    for (int i = 0; i < 8; ++i) {
        pop_next();
    }
    remote_of(s_)->notify.store(shared_->step);
    std::vector<std::uintptr_t> blocks(live_.begin(), live_.end());
    EXPECT_FALSE(free_remote(s_, blocks[0]).is_notice());
    const RemoteFree told = free_remote(s_, blocks[1]);
    EXPECT_TRUE(told.is_notice() && told.word.queued());
    EXPECT_EQ(told.word.owner(), 3u);
    EXPECT_EQ(told.bytes, 2u * shared_->block_size);
    EXPECT_EQ(free_remote(s_, blocks[2]).kind, RemoteFree::nothing) << "one is on the way already";
    EXPECT_EQ(free_remote(s_, blocks[3]).kind, RemoteFree::step) << "and has not been heard for so long";
    take_remote(s_);
    EXPECT_TRUE(RemoteWord{remote_of(s_)->word.load()}.queued()) << "it stays in its queue";
    remote_of(s_)->word.store(RemoteWord::owned_by(3)); // the queue is emptied
    EXPECT_FALSE(free_remote(s_, blocks[4]).is_notice());
    EXPECT_TRUE(free_remote(s_, blocks[5]).is_notice()) << "the next step tells anew";
}

/// Whatever lay in the list before, and by how many a chain went beyond the threshold.
TEST_P(SuperblockTest, StepsAreCountedFromWhatTheOwnerKnows) {
    for (int i = 0; i < 8 && carve_next(); ++i) {
    }
    for (int i = 0; i < 8; ++i) {
        pop_next();
    }
    const std::vector<std::uintptr_t> blocks(live_.begin(), live_.end());
    ASSERT_EQ(shared_->step, 2);
    free_remote(s_, blocks[0]);
    remote_of(s_)->notify.store(1 + shared_->step); // of one block it knows
    EXPECT_EQ(free_remote(s_, blocks[1]).kind, RemoteFree::nothing);
    word_of(blocks[2]) = (blocks[3] - memory_) ^ shared_->key;
    EXPECT_TRUE(free_remote(s_, {blocks[2], blocks[3], 2}).is_notice());
    EXPECT_EQ(free_remote(s_, blocks[4]).kind, RemoteFree::step) << "two steps are four blocks";
    EXPECT_EQ(free_remote(s_, blocks[5]).kind, RemoteFree::nothing);
    EXPECT_EQ(free_remote(s_, blocks[6]).kind, RemoteFree::step);
}

TEST_P(SuperblockTest, ARemoteListThatIsNotSoundEndsTheProgramBeforeABlockIsHandedOutTwice) {
    for (int i = 0; i < 8 && carve_next(); ++i) {
    }
    while (!is_end(s_->free)) {
        pop_next();
    }
    const std::uintptr_t a = *live_.begin();
    const std::uintptr_t b = *std::next(live_.begin());
    free_remote(s_, a);
    free_remote(s_, b);
    collect(s_);
    EXPECT_EQ(s_->live(), live_.size() - 2);
    const std::uint64_t link = word_of(b);
    const auto pop_two = [&] {
        word_of(address_of(pop(s_, span_of(s_)))) = 7; // a program's data
        pop(s_, span_of(s_));
    };
    for (const std::uint64_t damage : {
             std::uint64_t{0x1234},                               // written to after the free
             std::uint64_t{(memory_ + window_size) ^ s_->cookie}, // to somewhere else
             std::uint64_t{b ^ s_->cookie},                       // a ring: freed twice at one time
         }) {
        word_of(b) = damage;
        EXPECT_DEATH(pop_two(), "heap corruption: free block 0x[0-9a-f]+ .* or freed twice");
    }
    word_of(b) = link;
    free_ = {a, b};
    live_.erase(a);
    live_.erase(b);
    EXPECT_EQ(pop_next(), b);
    EXPECT_EQ(pop_next(), a);
}

TEST_P(SuperblockTest, MoreFreesThanLiveBlocksEndTheProgram) {
    carve_next();
    while (!is_end(s_->free)) {
        pop_next();
    }
    for (const std::uintptr_t block : live_) {
        free_remote(s_, block);
    }
    EXPECT_EQ(live_now(s_), 0u);
    word_of(*live_.begin()) = 7;
    free_remote(s_, *live_.begin());
    EXPECT_DEATH(live_now(s_), "double free: more blocks of the superblock at 0x[0-9a-f]+ .* than were live");
    EXPECT_DEATH(collect(s_), "double free: more blocks");
}

TEST_P(SuperblockTest, IsNotCutAnewWhereABlockIsLive) {
    carve_next();
    const std::uintptr_t block = pop_next();
    carve_again(s_); // as many were freed as were live, one of them twice
    EXPECT_DEATH(carve(s_), "double free or heap corruption: .* is not free");
    EXPECT_DEATH(check_all_free(s_), "double free or heap corruption: .* is not free");
    push(s_, block);
    s_->free = end_mark(memory_);
    EXPECT_TRUE(carve(s_));
}

TEST_P(SuperblockTest, RandomSequencesAgreeWithTheModel) {
    std::mt19937_64 random(GetParam().block_size);
    const auto any_live = [&] {
        return *std::next(live_.begin(), static_cast<std::ptrdiff_t>(random() % live_.size()));
    };
    std::set<std::uintptr_t> remote;
    for (int step = 0; step < 20000; ++step) {
        const auto what = random() % 100;
        if (what < 48) {
            if (is_end(s_->free)) {
                carve_next();
            }
            if (!is_end(s_->free)) {
                word_of(pop_next()) = random() >> 1; // a program's data
            }
        } else if (what < 75 && !live_.empty()) {
            const std::uintptr_t block = any_live();
            ASSERT_FALSE(looks_free(block, shared_, span_of(s_)));
            push(s_, block);
            live_.erase(block);
            free_.insert(block);
        } else if (what < 97 && !live_.empty()) {
            const std::uintptr_t block = any_live();
            free_remote(s_, block);
            live_.erase(block);
            remote.insert(block);
        } else if (is_end(s_->free)) {
            collect(s_);
            free_.merge(remote);
        }
        ASSERT_EQ(RemoteWord{remote_of(s_)->word.load()}.count(), remote.size());
        expect_accounts();
    }
}

TEST_P(SuperblockTest, ARecountFindsWhatTheListsSay) {
    for (int i = 0; i < 8 && carve_next(); ++i) {
    }
    for (int i = 0; i < 8; ++i) {
        pop_next();
    }
    const std::vector<std::uintptr_t> blocks(live_.begin(), live_.end());
    push(s_, blocks[0]);
    free_remote(s_, blocks[1]);
    free_remote(s_, blocks[2]);
    s_->frees_until_check += 5; // its owner was in the middle of something
    s_->check_at = 17;
    recount(s_);
    EXPECT_EQ(s_->live(), 5u);
    EXPECT_EQ(remote_of(s_)->word.load(), 0u) << "nobody's";

    push(s_, blocks[3]);
    word_of(blocks[3]) = 0x4141; // not sound: all of the list is given up, nothing is handed out twice
    recount(s_);
    EXPECT_EQ(s_->live(), s_->carved);
    EXPECT_TRUE(is_end(s_->free));
}

/// All blocks of a list that is not sound are live.
TEST_P(SuperblockTest, ARecountTrustsNoListThatIsNotSound) {
    for (int i = 0; i < 8 && carve_next(); ++i) {
    }
    for (int i = 0; i < 8; ++i) {
        pop_next();
    }
    const std::vector<std::uintptr_t> blocks(live_.begin(), live_.end());
    const auto expect_all_live = [&] {
        recount(s_);
        EXPECT_EQ(s_->live(), s_->carved);
        EXPECT_TRUE(is_end(s_->free));
    };
    recount(s_);
    if (GetParam().block_size > 8) {
        push(s_, blocks[0]);
        word_of(blocks[1] + 8) = end_mark(memory_) ^ s_->cookie;
        word_of(blocks[0]) = (blocks[1] + 8) ^ s_->cookie; // the middle of a block
        expect_all_live();
    }

    push(s_, blocks[0]);
    publish(shared_, s_->carved - 1u); // it was just being carved
    expect_all_live();
    publish(shared_, s_->carved);

    free_remote(s_, blocks[2]);
    const RemoteWord word{remote_of(s_)->word.load()};
    remote_of(s_)->word.store(word.pushed(word.head_offset(), 1).bits); // one is not there
    expect_all_live();
}

OwnerLine *changed = nullptr;

/// The line that all read can not be written to: change() ends at its first store there, as for a child of a fork that
/// came then. 0: no block is there then.
template <class Change>
void change_until_it_is_shared(OwnerLine *s, Change change) {
    changed = s;
    std::signal(SIGSEGV, [](int) {
        recount(changed);
        _exit(changed->carved == 0 && changed->live() == 0 ? 0 : 1);
    });
    const std::size_t page = platform::vm::page_size();
    mprotect(reinterpret_cast<void *>(align_down(address_of(shared_of(s)), page)), page, PROT_READ);
    change(s);
    _exit(2);
}
void format_anew(OwnerLine *s) {
    format(s, 8, 40, 0, 1, s->touched);
}

/// Else the child would take as many blocks of the new class as were cut of the old one for live, or cut more behind
/// the superblock's end.
TEST_P(SuperblockTest, AForkWhileItIsFormattedFindsNoBlock) {
    while (carve_next()) {
    }
    ASSERT_NE(s_->carved, 0u);
    const std::uint32_t touched = s_->touched;
    EXPECT_EXIT(change_until_it_is_shared(s_, format_anew), testing::ExitedWithCode(0), "");

    s_->carved = 0; // and of what follows a part
    s_->size_class = 8;
    shared_->reciprocal = reciprocal_of(40);
    shared_->block_size = 40;
    recount(s_);
    EXPECT_EQ(s_->live(), 0u);
    EXPECT_TRUE(is_end(s_->free));
    EXPECT_EQ(s_->touched, touched);
}

/// Else all blocks of an empty superblock are live in the child.
TEST_P(SuperblockTest, AForkWhileItIsCutAnewFindsNoBlock) {
    while (carve_next()) {
    }
    EXPECT_EXIT(change_until_it_is_shared(s_, carve_again), testing::ExitedWithCode(0), "");
}

/// Else the child takes memory that has links in it for zeroed memory.
TEST_P(SuperblockTest, AForkWhileBlocksAreCutFindsTheirMemoryTouched) {
    carve_next();
    const auto cut_until_it_is_written = [this] {
        changed = s_;
        struct sigaction action{};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int, siginfo_t *info, void *) {
            _exit(address_of(info->si_addr) - memory_of(changed) < changed->touched ? 0 : 1);
        };
        sigaction(SIGSEGV, &action, nullptr);
        mprotect(reinterpret_cast<void *>(memory_), span_of(s_), PROT_READ);
        carve_next();
        _exit(2);
    };
    EXPECT_EXIT(cut_until_it_is_written(), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, SuperblockTest,
                         testing::Values(Shape{8, 1}, Shape{16, 1}, Shape{48, 1}, Shape{112, 1},
                                         Shape{1280, 1}, Shape{8_KiB, 1}, Shape{9_KiB, 8},
                                         Shape{9_KiB, 8, 448}, Shape{36_KiB, 8, 4032}, Shape{64_KiB, 8}));

} // namespace
