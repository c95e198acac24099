// SPDX-License-Identifier: MIT
//
// HugeSteps: who may take one, and how long a kernel is left alone that has no huge page or is slow to make one.
// HugeGrowth: what a run heap has after one.
#include "process_memory.hpp"

#include <cairn/run/run_heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace cairn;

namespace {

using Got = HugeSteps::Got;

constexpr std::size_t large = HugeSteps::least;
constexpr std::size_t part = large / HugeSteps::fraction;

bool begins(HugeSteps &steps, std::size_t growth) {
    return steps.begin(1, {large, 0, 0, growth});
}

TEST(HugeStepsTest, OnlyALargeProcessTakesOne) {
    HugeSteps steps;
    EXPECT_FALSE(steps.begin(1, {large - 1, 0, 0, 0}));
    EXPECT_TRUE(steps.begin(1, {large, 0, 0, 0}));
}

TEST(HugeStepsTest, NotForARunOfWhichAHalfMayStayUntouched) {
    HugeSteps steps;
    EXPECT_FALSE(steps.begin(HugeSteps::longest_run + 1, {large, 0, 0, 0}));
    EXPECT_TRUE(steps.begin(HugeSteps::longest_run, {large, 0, 0, 0}));
}

TEST(HugeStepsTest, NotWhereMuchLiesFreeWithIt) {
    HugeSteps steps;
    EXPECT_FALSE(steps.begin(1, {large, part - HugeSteps::bytes + 1, 0, 0}));
    EXPECT_TRUE(steps.begin(1, {large, part - HugeSteps::bytes, 0, 0}));
}

TEST(HugeStepsTest, NorWhereSuperblocksAreTouchedInPartOnly) {
    HugeSteps steps;
    EXPECT_FALSE(steps.begin(1, {large, 0, part + 1, 0}));
    EXPECT_TRUE(steps.begin(1, {large, 0, part, 0}));
}

TEST(HugeStepsTest, OneAtATime) {
    HugeSteps steps;
    EXPECT_TRUE(begins(steps, 0));
    EXPECT_FALSE(begins(steps, 0));
    steps.end(Got::soon, 0);
    EXPECT_TRUE(begins(steps, 0));
    steps.leave_out();
    EXPECT_TRUE(begins(steps, 0));
    steps.forget();
    EXPECT_TRUE(begins(steps, 0));
}

TEST(HugeStepsTest, WhatFailsOrIsSlowIsTriedAgainAfterTwiceAsMuch) {
    for (const Got got : {Got::nothing, Got::slowly}) {
        HugeSteps steps;
        std::size_t growth = 0;
        for (std::size_t pause = HugeSteps::shortest_pause; pause < 4 * HugeSteps::longest_pause;
             pause *= 2) {
            ASSERT_TRUE(begins(steps, growth));
            steps.end(got, growth);
            growth += std::min(pause, HugeSteps::longest_pause);
            EXPECT_FALSE(begins(steps, growth - 1));
        }
        ASSERT_TRUE(begins(steps, growth));
        steps.end(Got::soon, growth);
        EXPECT_TRUE(begins(steps, growth)) << "what goes well has no pause";
        steps.end(got, growth);
        EXPECT_FALSE(begins(steps, growth + HugeSteps::shortest_pause - 1));
        EXPECT_TRUE(begins(steps, growth + HugeSteps::shortest_pause)) << "and the next one is short again";
    }
}

TEST(HugeStepsTest, WhereThereAreLargeBlocksOneIn17IsATrial) {
    HugeSteps steps;
    EXPECT_FALSE(steps.is_trial());
    OwnerLine range{};
    std::size_t growth = 0;
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(begins(steps, growth));
        steps.note_large();
        ASSERT_TRUE(steps.is_trial());
        steps.tries(&range, growth);
        EXPECT_FALSE(begins(steps, growth + HugeSteps::shortest_pause - 1));
        growth += HugeSteps::shortest_pause;
        ASSERT_TRUE(begins(steps, growth));
        EXPECT_EQ(steps.take_trial(), &range);
        EXPECT_EQ(steps.take_trial(), nullptr);
        steps.leave_out();
        for (unsigned i = 0; i < HugeSteps::steps_a_trial; ++i) {
            ASSERT_TRUE(begins(steps, growth));
            EXPECT_FALSE(steps.is_trial());
            steps.end(Got::soon, growth);
        }
    }
    EXPECT_TRUE(begins(steps, growth));
    EXPECT_FALSE(steps.is_trial()) << "no large block since";
}

TEST(HugeStepsTest, ATrialThatFailsIsMadeAgainAfterTwiceAsMuch) {
    HugeSteps steps;
    steps.note_large();
    std::size_t growth = 0;
    for (std::size_t pause = HugeSteps::shortest_pause; pause <= HugeSteps::longest_pause; pause *= 2) {
        ASSERT_TRUE(begins(steps, growth));
        ASSERT_TRUE(steps.is_trial());
        steps.tries(nullptr, growth);
        growth += HugeSteps::shortest_pause;
        ASSERT_TRUE(begins(steps, growth));
        steps.end_sparse(growth);
        EXPECT_FALSE(begins(steps, growth + pause - 1));
        growth += pause;
    }
}

// ---- a run heap

/// A process may have none for as long as this lives.
class NoHugePages {
public:
    NoHugePages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
    NoHugePages(const NoHugePages &) = delete;
    NoHugePages &operator=(const NoHugePages &) = delete;
    ~NoHugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
};

class Runs : public RunHeap {
public:
    /// As another thread would.
    bool begin_a_step() { return steps_.begin(1, {HugeSteps::least, 0, 0, SIZE_MAX}); }
    /// The halves of a step.
    OwnerLine *begin_one() { return begin_step(1, Touched::now, 0); }
    void go_on(OwnerLine *range) { step(range, 1, Touched::now); }
    /// As if all went well so far.
    void forget_pauses() {
        steps_ = {};
        steps_.tries(nullptr, 0);
    }
    /// Whether a step would take no new address space.
    bool has_range() {
        OwnerLine *const range =
            stripes_.take_at_home(HugeSteps::slots, HugeSteps::slots, SlotKind::free_clean, 0).first;
        if (range != nullptr) {
            stripes_.of(range).runs().put(range, true);
        }
        return range != nullptr;
    }
};

class HugeGrowthTest : public testing::Test {
protected:
    HugeGrowthTest() { runs_.space().use_huge_pages(HugePageUse::growth); }

    static void *memory(const OwnerLine *run) { return reinterpret_cast<void *>(memory_of(run)); }

    const OwnerLine *allocate(unsigned slots = 1, unsigned alignment = 1, bool use = false) {
        OwnerLine *const run = runs_.allocate(slots, alignment).first;
        if (run != nullptr) {
            Segment *const segment = Segment::of(run);
            segment->set_kinds(segment->slot_of(run), slots, SlotKind::large_tail);
            if (use) {
                std::memset(memory(run), 1, slots * slot_size);
            }
        }
        return run;
    }

    /// In long runs; `least`: as much as a heap has that takes such steps, and a trial.
    void fill(std::size_t least = HugeSteps::least, bool use = true) {
        for (std::size_t bytes = 0; bytes < least; bytes += 8_MiB) {
            ASSERT_NE(allocate(8_MiB / slot_size), nullptr);
        }
        try_one(use);
    }
    void try_one(bool use) {
        for (std::size_t bytes = 0; bytes < HugeSteps::shortest_pause; bytes += slot_size) {
            allocate(1, 1, use);
        }
    }

    /// Whether the kernel has huge pages for who asks as a heap does it.
    static bool are_there() {
        void *const p = platform::vm::map(2 * HugeSteps::bytes);
        void *const range = reinterpret_cast<void *>(align_up(address_of(p), HugeSteps::bytes));
        const bool there = platform::vm::fault_huge_page(range, HugeSteps::bytes);
        platform::vm::unmap(p, 2 * HugeSteps::bytes);
        return there;
    }

    Runs runs_;
};

TEST_F(HugeGrowthTest, ALargeHeapGrowsByTwoMebibytesAtOnce) {
    if (!are_there()) {
        GTEST_SKIP() << "no huge pages here";
    }
    fill();
    const OwnerLine *const first = allocate();
    EXPECT_EQ(runs_.dirty_bytes(), HugeSteps::bytes - slot_size);
    const std::uintptr_t range = align_down(memory_of(first), HugeSteps::bytes);
    EXPECT_EQ(test::resident(reinterpret_cast<void *>(range), HugeSteps::bytes), HugeSteps::bytes);
    for (unsigned i = 1; i < HugeSteps::slots; ++i) {
        EXPECT_EQ(align_down(memory_of(allocate()), HugeSteps::bytes), range) << "what is there comes first";
    }
    EXPECT_EQ(runs_.dirty_bytes(), 0U);
    EXPECT_EQ(runs_.line().total(), runs_.resident_bytes()) << "it is paid for";
}

TEST_F(HugeGrowthTest, ASmallHeapDoesNot) {
    fill(HugeSteps::least - 8_MiB);
    allocate();
    EXPECT_EQ(runs_.dirty_bytes(), 0U);
}

TEST_F(HugeGrowthTest, NorOneThatIsNotTo) {
    for (const HugePageUse use : {HugePageUse::system, HugePageUse::none, HugePageUse::everywhere}) {
        runs_.space().use_huge_pages(use);
        fill();
        allocate();
        EXPECT_EQ(runs_.dirty_bytes(), 0U);
    }
}

TEST_F(HugeGrowthTest, NorForALongRunOrOneOfSuchAnAlignment) {
    fill();
    const std::size_t dirty = runs_.dirty_bytes();
    allocate(HugeSteps::longest_run + 1);
    allocate(1, 2 * HugeSteps::slots);
    EXPECT_LE(runs_.dirty_bytes(), dirty);
}

TEST_F(HugeGrowthTest, ForTheLongestThatIsNone) {
    if (!are_there()) {
        GTEST_SKIP() << "no huge pages here";
    }
    fill();
    allocate(HugeSteps::longest_run);
    EXPECT_EQ(runs_.dirty_bytes(), HugeSteps::bytes / 2);
}

TEST_F(HugeGrowthTest, NorWhereLargeBlocksAreHardlyUsed) {
    fill(HugeSteps::least, /*use=*/false);
    std::size_t pause = HugeSteps::shortest_pause;
    for (; pause < HugeSteps::longest_pause; pause *= 2) { // until the next trial
        for (std::size_t bytes = 0; bytes < pause; bytes += slot_size) {
            allocate();
            ASSERT_EQ(runs_.dirty_bytes(), 0U) << pause;
        }
        try_one(/*use=*/false);
    }
    for (std::size_t bytes = 0; bytes < pause; bytes += slot_size) {
        allocate();
    }
    try_one(/*use=*/true);
    allocate();
    EXPECT_EQ(runs_.dirty_bytes() != 0, are_there()) << "and later it is";
}

TEST_F(HugeGrowthTest, WithoutHugePagesItGrowsAsASmallOne) {
    const NoHugePages none;
    fill();
    for (unsigned i = 0; i < 3 * HugeSteps::slots; ++i) {
        const OwnerLine *const run = allocate();
        ASSERT_NE(run, nullptr);
        EXPECT_EQ(test::resident(memory(run), slot_size), 0U) << i;
        EXPECT_EQ(runs_.line().total(), runs_.resident_bytes()) << "it is paid for";
    }
    EXPECT_EQ(runs_.dirty_bytes(), 0U);
}

TEST_F(HugeGrowthTest, WhereAddressSpaceIsShortItIsNotTakenForOne) {
    if (platform::sanitized || !are_there()) {
        GTEST_SKIP() << "no huge pages here, or a sanitizer that needs address space without limit";
    }
    fill(2 * HugeSteps::least);
    while (runs_.has_range()) {
        allocate(HugeSteps::slots, HugeSteps::slots);
    }
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    const rlimit limit{test::address_space() + 64_MiB, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    allocate();
    EXPECT_EQ(runs_.dirty_bytes(), 0U);
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    allocate();
    EXPECT_EQ(runs_.dirty_bytes(), HugeSteps::bytes - slot_size) << "and later it is";
}

TEST_F(HugeGrowthTest, WhoIsOutOfMemoryWaitsForWhatAStepHas) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    fill();
    OwnerLine *const last = const_cast<OwnerLine *>(allocate(HugeSteps::slots, HugeSteps::slots));
    OwnerLine *range = nullptr;
    std::binary_semaphore has_begun{0};
    std::thread other([&] {
        has_begun.acquire();
        usleep(20'000);
        runs_.go_on(range);
    });
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    const rlimit limit{test::address_space(), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    while (allocate() != nullptr) {
    }
    runs_.release(last, /*clean=*/true);
    runs_.forget_pauses(); // after steps that were slow
    range = runs_.begin_one();
    EXPECT_EQ(range, last);
    has_begun.release();
    // Half of its tries sleep for a millisecond each. On a busy machine the other thread may not run for so long.
    constexpr std::uint64_t longest = 1000 * platform::longest_wait / 2;
    std::uint64_t took = longest;
    const OwnerLine *run = nullptr;
    while (run == nullptr && took >= longest) {
        const std::uint64_t start = platform::monotonic_microseconds();
        run = allocate();
        took = platform::monotonic_microseconds() - start;
    }
    EXPECT_NE(run, nullptr) << "after " << took << " us";
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    other.join();
}

TEST_F(HugeGrowthTest, NorWhereMuchLiesFreeOrSuperblocksAreTouchedInPart) {
    fill();
    const std::size_t slots = HugeSteps::least / HugeSteps::fraction / slot_size;
    for (const bool later : {false, true}) {
        runs_.space().use_huge_pages(HugePageUse::none);
        std::vector<OwnerLine *> apart;
        for (std::size_t i = 0; i < 2 * slots; ++i) {
            const RunHeap::Touched touched = later ? RunHeap::Touched::later : RunHeap::Touched::now;
            OwnerLine *const run = runs_.allocate(1, 1, touched).first;
            Segment::of(run)->set_kinds(Segment::of(run)->slot_of(run), 1, SlotKind::large_tail);
            if (i % 2 == 0 && !later) {
                apart.push_back(run);
            }
        }
        for (OwnerLine *const run : apart) {
            runs_.release(run);
        }
        const std::size_t dirty = runs_.dirty_bytes();
        runs_.space().use_huge_pages(HugePageUse::growth);
        allocate(HugeSteps::longest_run);
        EXPECT_EQ(runs_.dirty_bytes(), dirty) << later;
        runs_.purge(0);
    }
}

TEST_F(HugeGrowthTest, AfterOneThatFailedItGrowsBySomeMebibytesFirst) {
    if (!are_there()) {
        GTEST_SKIP() << "no huge pages here";
    }
    fill();
    {
        const NoHugePages none;
        allocate();
    }
    std::size_t grown = 0;
    for (; runs_.dirty_bytes() == 0 && grown < 2 * HugeSteps::shortest_pause; grown += slot_size) {
        allocate();
    }
    EXPECT_GE(grown, HugeSteps::shortest_pause);
    EXPECT_LT(grown, 2 * HugeSteps::shortest_pause);
}

TEST_F(HugeGrowthTest, TheChildOfAForkTakesOneThatAnotherThreadHadBegun) {
    if (!are_there()) {
        GTEST_SKIP() << "no huge pages here";
    }
    fill();
    ASSERT_TRUE(runs_.begin_a_step());
    allocate();
    EXPECT_EQ(runs_.dirty_bytes(), 0U);
    runs_.repair_after_fork();
    allocate();
    EXPECT_EQ(runs_.dirty_bytes(), HugeSteps::bytes - slot_size);
}

TEST_F(HugeGrowthTest, WhoHasHugePagesForLongBlocksTakesThemToo) {
    for (const auto &[use, wanted] :
         {std::pair{HugePageUse::system, false}, std::pair{HugePageUse::none, false},
          std::pair{HugePageUse::growth, true}, std::pair{HugePageUse::dense, true},
          std::pair{HugePageUse::everywhere, false}}) {
        runs_.space().use_huge_pages(use);
        EXPECT_EQ(runs_.space().wants_huge_steps(), wanted);
    }
}

TEST_F(HugeGrowthTest, PiecesThatAreTooShortForOneAreUsedBeforeNewAddressSpace) {
    constexpr unsigned mebibyte = 1_MiB / slot_size;
    std::vector<OwnerLine *> every_other;
    for (std::size_t i = 0; i < 2 * HugeSteps::least / 1_MiB; ++i) {
        const OwnerLine *const run = allocate(mebibyte);
        if (i % 2 == 0) {
            every_other.push_back(const_cast<OwnerLine *>(run));
        }
    }
    for (OwnerLine *const run : every_other) {
        runs_.release(run);
    }
    runs_.purge(0);
    const std::size_t mapped = runs_.space().mapped();
    for (std::size_t i = 0; i < every_other.size() / 2; ++i) { // more than an eighth stays
        are_there(); // what this process has just given back the kernel has soon
        allocate(mebibyte);
    }
    EXPECT_EQ(runs_.space().mapped(), mapped);
}

TEST_F(HugeGrowthTest, WhatIsGivenBackOfOneStaysSo) {
    if (!are_there()) {
        GTEST_SKIP() << "no huge pages here";
    }
    fill();
    const OwnerLine *const first = allocate();
    const std::uintptr_t range = align_down(memory_of(first), HugeSteps::bytes);
    runs_.purge(0);
    EXPECT_EQ(test::resident(reinterpret_cast<void *>(range), HugeSteps::bytes), slot_size);
    EXPECT_EQ(test::flags_of(reinterpret_cast<void *>(range)).find(" hg"), std::string::npos)
        << "the kernel may put one there again";
}

/// Each guard of the first windows makes two mappings; the steps none.
TEST_F(HugeGrowthTest, ManyStepsAreFewMappings) {
    const NoHugePages none;
    fill();
    const std::size_t before = test::mappings();
    for (unsigned i = 0; i < 600; ++i) {
        ASSERT_NE(allocate(8_MiB / slot_size), nullptr);
        runs_.forget_pauses();
        allocate();
        allocate(HugeSteps::slots - 1);
    }
    EXPECT_LT(test::mappings() - before, 300U);
}

/// Bytes of a range that have memory behind them, by another way than mincore.
std::size_t present(const void *p, std::size_t bytes) {
    const std::size_t page = platform::vm::page_size();
    std::vector<std::uint64_t> pages(bytes / page);
    const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const auto length = static_cast<ssize_t>(pages.size() * sizeof(std::uint64_t));
    EXPECT_EQ(pread(map, pages.data(), pages.size() * sizeof(std::uint64_t),
                    static_cast<off_t>(address_of(p) / page * sizeof(std::uint64_t))),
              length);
    close(map);
    return page * static_cast<std::size_t>(
                      std::count_if(pages.begin(), pages.end(), [](std::uint64_t at) { return at >> 63; }));
}

/// In a sandbox without mincore.
TEST(FaultHugePage, LeavesNothingWhereTheKernelDoesNotSayWhatThereIs) {
    const auto none_is_left = [] {
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned{EPERM}),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program{std::size(code), code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
            return true;
        }
        auto *const range = reinterpret_cast<char *>(
            align_up(address_of(platform::vm::map(2 * HugeSteps::bytes)), HugeSteps::bytes));
        return !platform::vm::fault_huge_page(range, HugeSteps::bytes) &&
               present(range, HugeSteps::bytes) == 0;
    };
    EXPECT_EXIT(_exit(none_is_left() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(HugeGrowthTest, ThreadsThatGrowTogetherHaveRunsApart) {
    fill();
    std::vector<std::thread> threads;
    std::vector<std::uintptr_t> all[4];
    for (auto &mine : all) {
        threads.emplace_back([this, &mine] {
            for (int i = 0; i < 300; ++i) {
                const OwnerLine *const run = allocate(1 + i % 4);
                *static_cast<char *>(memory(run)) = 1;
                mine.push_back(memory_of(run));
            }
        });
    }
    std::vector<std::uintptr_t> together;
    for (unsigned i = 0; i < 4; ++i) {
        threads[i].join();
        together.insert(together.end(), all[i].begin(), all[i].end());
    }
    std::sort(together.begin(), together.end());
    EXPECT_EQ(std::adjacent_find(together.begin(), together.end()), together.end());
}

} // namespace
