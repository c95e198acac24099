// SPDX-License-Identifier: MIT
//
// Plans: the calls of a trace with block numbers instead of addresses, one call for a realloc's two records, and what
// can not be made again left out and counted.
#include <src/cli/replay_plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <vector>

#include <unistd.h>

// The plan maker is part of this program, and so is the reader that it needs.
#include <src/cli/replay_plan.cpp>
#include <src/cli/trace_file.cpp>

namespace cairn::cli {
namespace {

using replay::Call;
using replay::Step;

class ReplayPlanTest : public testing::Test {
protected:
    void take(std::uint32_t thread, Op op, std::uint64_t address, std::uint64_t size = 0,
              unsigned alignment = 0) {
        maker_.take({0, thread, op, static_cast<std::uint8_t>(alignment), address, size});
    }
    /// The steps so far, without turns.
    std::vector<Step> made() const {
        std::vector<Step> all;
        for (const Step &step : steps_) {
            if (step.call() != Call::turn) {
                all.push_back(step);
            }
        }
        return all;
    }

    std::vector<Step> steps_;
    PlanMaker maker_{[this](const Step &step) { steps_.push_back(step); }};
};

TEST_F(ReplayPlanTest, StepsKeepWhatIsPutIntoThem) {
    const Step step = Step::make(Call::aligned, 0xfffffffe, trace::Record::most_size, 47);
    EXPECT_EQ(step.call(), Call::aligned);
    EXPECT_EQ(step.block, 0xfffffffeu);
    EXPECT_EQ(step.size(), trace::Record::most_size);
    EXPECT_EQ(step.alignment_log2(), 47u);
}

TEST_F(ReplayPlanTest, BlocksThatLiveAtOneTimeHaveNumbersOfTheirOwn) {
    take(0, Op::malloc, 0x1000, 100);
    take(0, Op::calloc, 0x2000, 200);
    take(0, Op::free, 0x1000);
    take(0, Op::aligned, 0x3000, 64, 12);
    take(0, Op::free, 0x2000);
    const PlanSummary sum = maker_.finish();
    const std::vector<Step> wanted = {
        Step::make(Call::turn, 0), Step::make(Call::malloc, 0, 100),     Step::make(Call::calloc, 1, 200),
        Step::make(Call::free, 0), Step::make(Call::aligned, 0, 64, 12), Step::make(Call::free, 1)};
    EXPECT_EQ(steps_, wanted);
    EXPECT_EQ(sum.header.steps, 6u);
    EXPECT_EQ(sum.header.calls, 5u);
    EXPECT_EQ(sum.header.blocks, 2u);
    EXPECT_EQ(sum.header.peak, 300u);
    EXPECT_EQ(sum.header.peak_call, 2u);
    EXPECT_EQ(sum.live, 64u);
    EXPECT_EQ(sum.live_blocks, 1u);
    EXPECT_EQ(sum.counts[static_cast<unsigned>(Call::free)], 2u);
}

TEST_F(ReplayPlanTest, AnAddressIsAnotherBlockEachTime) {
    for (int i = 0; i < 3; ++i) {
        take(0, Op::malloc, 0x1000, 10);
        take(0, Op::malloc, 0x2000, 10);
        take(0, Op::free, 0x1000);
        take(0, Op::free, 0x2000);
    }
    const PlanSummary sum = maker_.finish();
    EXPECT_EQ(sum.header.blocks, 2u);
    EXPECT_EQ(sum.header.calls, 12u);
    EXPECT_EQ(sum.header.peak, 20u);
    EXPECT_EQ(sum.live, 0u);
    EXPECT_EQ(sum.overlapping, 0u);
}

TEST_F(ReplayPlanTest, TurnsChangeWithTheThread) {
    take(7, Op::malloc, 0x1000, 1); // the trace's numbers are its own
    take(7, Op::malloc, 0x2000, 1);
    take(9, Op::free, 0x1000);
    take(7, Op::free, 0x2000);
    take(3, Op::malloc, 0x3000, 1);
    const PlanSummary sum = maker_.finish();
    EXPECT_EQ(maker_.turns(), (std::vector<std::uint64_t>{2, 1, 1}));
    EXPECT_EQ(sum.header.threads, 3u);
    EXPECT_EQ(sum.header.most_threads, 2u); // the third comes when both others have gone
    EXPECT_EQ(steps_[0], Step::make(Call::turn, 0));
    EXPECT_EQ(steps_[3], Step::make(Call::turn, 1));
    EXPECT_EQ(steps_[5], Step::make(Call::turn, 0));
    EXPECT_EQ(steps_[7], Step::make(Call::turn, 2));
}

TEST_F(ReplayPlanTest, AReallocIsOneCallAlsoWhenOthersCallInBetween) {
    take(0, Op::malloc, 0x1000, 100);
    take(1, Op::malloc, 0x2000, 50);
    take(0, Op::realloc_from, 0x1000);
    take(1, Op::realloc_from, 0x2000);
    take(2, Op::malloc, 0x1000, 7);      // what the first has left
    take(1, Op::realloc_to, 0x2000, 60); // in place
    take(0, Op::realloc_to, 0x3000, 300);
    take(2, Op::free, 0x3000);
    take(2, Op::free, 0x1000);
    take(2, Op::free, 0x2000);
    const PlanSummary sum = maker_.finish();
    const std::vector<Step> wanted = {Step::make(Call::malloc, 0, 100),  Step::make(Call::malloc, 1, 50),
                                      Step::make(Call::malloc, 2, 7),    Step::make(Call::realloc, 1, 60),
                                      Step::make(Call::realloc, 0, 300), Step::make(Call::free, 0),
                                      Step::make(Call::free, 2),         Step::make(Call::free, 1)};
    EXPECT_EQ(made(), wanted);
    EXPECT_EQ(sum.header.peak, 367u);
    EXPECT_EQ(sum.live, 0u);
    EXPECT_EQ(sum.live_blocks, 0u);
}

TEST_F(ReplayPlanTest, AReallocThatFailsLeavesTheBlock) {
    take(0, Op::malloc, 0x1000, 100);
    take(0, Op::realloc_from, 0x1000);
    take(0, Op::realloc_to, 0, 1u << 30);
    take(0, Op::free, 0x1000);
    const PlanSummary sum = maker_.finish();
    EXPECT_EQ(made(), (std::vector<Step>{Step::make(Call::malloc, 0, 100), Step::make(Call::free, 0)}));
    EXPECT_EQ(sum.failed, 1u);
    EXPECT_EQ(sum.unknown, 0u);
    EXPECT_EQ(sum.header.peak, 100u);
}

TEST_F(ReplayPlanTest, BlocksFromBeforeTheTraceAreCounted) {
    take(0, Op::free, 0x9000);
    take(0, Op::realloc_from, 0x8000);
    take(0, Op::realloc_to, 0x7000, 10);
    take(0, Op::free, 0x7000);
    const PlanSummary sum = maker_.finish();
    EXPECT_EQ(made(), (std::vector<Step>{Step::make(Call::malloc, 0, 10), Step::make(Call::free, 0)}));
    EXPECT_EQ(sum.unknown, 1u);
    EXPECT_EQ(sum.from_before, 1u);
}

TEST_F(ReplayPlanTest, ABlockOnTopOfAnotherMeansThatAFreeIsMissing) {
    take(0, Op::malloc, 0x1000, 10);
    take(0, Op::malloc, 0x1000, 20);
    take(0, Op::free, 0x1000);
    const PlanSummary sum = maker_.finish();
    EXPECT_EQ(made(), (std::vector<Step>{Step::make(Call::malloc, 0, 10), Step::make(Call::free, 0),
                                         Step::make(Call::malloc, 1, 20), Step::make(Call::free, 1)}));
    EXPECT_EQ(sum.overlapping, 1u);
    EXPECT_EQ(sum.header.peak, 20u);
    EXPECT_EQ(sum.live, 0u);
}

TEST_F(ReplayPlanTest, AReallocCutOffByTheEndLeavesTheBlock) {
    take(0, Op::malloc, 0x1000, 10);
    take(0, Op::realloc_from, 0x1000);
    const PlanSummary sum = maker_.finish();
    EXPECT_EQ(sum.live, 10u);
    EXPECT_EQ(sum.live_blocks, 1u);
    EXPECT_EQ(sum.header.calls, 1u);
}

TEST_F(ReplayPlanTest, TheFileIsAHeaderStepsAndTurns) {
    const std::string trace = testing::TempDir() + "cairn_replay_" + std::to_string(getpid());
    const std::string plan = trace + ".plan";
    trace::Header header{trace::file_mark, trace::format_version, trace::chunk_bytes,
                         {1000, 0},        {2000, 1000},          0};
    std::vector<char> bytes(trace::header_bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    trace::Coder coder;
    for (const Record &record : {Record{Op::thread, 0, 1, 5}, Record{Op::time, 1100, 0, 0},
                                 Record{Op::malloc, 1, 0x1000, 100}, Record{Op::free, 1, 0x1000, 0}}) {
        trace::Word words[trace::Coder::most_words] = {};
        const std::size_t count = coder.write(record, words);
        const char *const written = reinterpret_cast<const char *>(words);
        bytes.insert(bytes.end(), written, written + count);
    }
    std::ofstream(trace, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const TraceFile file(trace);
    const PlanSummary sum = write_plan(file, 1, plan);
    std::ifstream written(plan, std::ios::binary);
    const std::vector<char> all{std::istreambuf_iterator<char>(written), {}};
    EXPECT_EQ(all.size(), replay::header_bytes + 3 * sizeof(Step) + 8);
    replay::PlanHeader read{};
    std::memcpy(&read, all.data(), sizeof read);
    EXPECT_EQ(read.mark, replay::plan_mark);
    EXPECT_EQ(read.calls, 2u);
    EXPECT_EQ(read.steps, sum.header.steps);
    EXPECT_EQ(all[all.size() - 8], 1); // the thread's turns
    EXPECT_THROW(write_plan(file, 2, plan), BadTrace);
    unlink(trace.c_str());
    unlink(plan.c_str());
}

} // namespace
} // namespace cairn::cli
