// SPDX-License-Identifier: MIT
//
// Figures of a trace: what they are made of, for sizes of every length that a trace can have; each of them for a few
// calls.
#include <src/cli/trace_figures.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <vector>

#include <unistd.h>

// What is tested is part of this program, and so is the reader that it needs.
#include <src/cli/trace_figures.cpp>
#include <src/cli/trace_file.cpp>

namespace cairn::cli {
namespace {

class TraceFiguresTest : public testing::Test {
protected:
    /// A trace with two threads, and no calls but those that are taken.
    TraceFiguresTest() {
        const Header header{trace::file_mark, trace::format_version, trace::chunk_bytes,
                            {1000, 0},        {2000, 1000},          0};
        std::vector<char> bytes(trace::header_bytes);
        std::memcpy(bytes.data(), &header, sizeof header);
        for (const std::uint64_t thread : {5U, 6U}) {
            Word words[trace::Coder::most_words] = {};
            trace::Coder coder;
            const std::size_t count = coder.write({Op::thread, 0, 1, thread}, words);
            const char *const written = reinterpret_cast<const char *>(words);
            bytes.insert(bytes.end(), written, written + count);
        }
        std::ofstream(path_, std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    ~TraceFiguresTest() override { unlink(path_.c_str()); }

    std::string path_ = testing::TempDir() + "cairn_figures_" + std::to_string(getpid());
};

TEST_F(TraceFiguresTest, SizesOfEveryLengthHaveARow) {
    const TraceFile file(path_);
    TraceFigures figures(file, 1);
    std::uint64_t address = 0x1000;
    figures.take({0, 0, Op::malloc, 0, address, 0});
    std::uint64_t lengths = 1;
    for (std::uint64_t size = 1; size <= Record::most_size; size *= 2, ++lengths) {
        figures.take({0, 0, Op::malloc, 0, address += 16, size});
    }
    figures.take({0, 0, Op::malloc, 0, address += 16, Record::most_size});
    figures.take({0, 0, Op::free, 0, address, 0});
    const ordered_json all = figures.describe();
    const ordered_json &sizes = all.at("sizes");
    ASSERT_EQ(sizes.size(), lengths + 1);
    EXPECT_EQ(sizes.front().at("to"), 0);
    EXPECT_EQ(sizes.back().at("to"), Record::most_size + 1);
    EXPECT_EQ(sizes.back().at("bytes"), Record::most_size);
    EXPECT_EQ(all.at("classes").back().at("to"), Record::most_size + 1);
    EXPECT_EQ(all.at("classes").back().at("at_peak").at("blocks"), 1);
}

TEST_F(TraceFiguresTest, EachFigureIsThatOfTheCalls) {
    const TraceFile file(path_);
    ASSERT_EQ(file.threads().size(), 2u);
    TraceFigures figures(file, 1);
    const auto realloc = [&](std::uint64_t at, std::uint32_t thread, std::uint64_t from, std::uint64_t to,
                             std::uint64_t size) {
        figures.take({at, thread, Op::realloc_from, 0, from, 0});
        figures.take({at, thread, Op::realloc_to, 0, to, size});
    };
    figures.take({1000, 0, Op::malloc, 0, 0x10, 0});
    figures.take({2000, 0, Op::malloc, 0, 0x1000, 1000});
    realloc(3000, 0, 0x1000, 0x1000, 1250);
    realloc(4000, 0, 0x1000, 0x2000, 1875);
    realloc(5000, 0, 0x2000, 0x3000, 3750);
    realloc(6000, 0, 0x3000, 0x4000, 15000);
    realloc(8000, 0, 0x4000, 0x4000, 15000);
    realloc(9000, 0, 0x4000, 0x5000, 100);
    realloc(10000, 0, 0x5000, 0, 200);                   // it failed
    realloc(11000, 1, 0x9000, 0x6000, 5000);             // of a block from before
    figures.take({12000, 1, Op::free, 0, 0xa000, 0});    // likewise
    figures.take({13000, 1, Op::free, 0, 0x5000, 0});    // the other thread's
    figures.take({14000, 1, Op::malloc, 0, 0x6000, 50}); // where a block was whose free is missing
    figures.take({15000, 0, Op::aligned, 20, 0x100000, 10});
    const ordered_json all = figures.describe();

    EXPECT_EQ(all.at("of_0_bytes"), 1);
    EXPECT_EQ(all.at("free_unknown"), 1) << "a realloc is no free";
    EXPECT_EQ(all.at("overlapping"), 1);
    EXPECT_EQ(all.at("live_at_end"), (ordered_json{{"blocks", 3}, {"bytes", 60}}));
    EXPECT_EQ(all.at("peak"), (ordered_json{{"live", 15000}, {"at_ns", 5000}, {"rounded", 16448 + 8}}));
    EXPECT_EQ(all.at("sizes").at(2), (ordered_json{{"to", 64}, {"allocations", 1}, {"bytes", 50}}))
        << all.at("sizes");
    const ordered_json &moved = all.at("reallocs");
    EXPECT_EQ(moved.at("count"), 6);
    EXPECT_EQ(moved.at("failed"), 1);
    EXPECT_EQ(moved.at("of_unknown"), 1);
    EXPECT_EQ(moved.at("in_place"), 2);
    EXPECT_EQ(moved.at("moved"), 4);
    EXPECT_EQ(moved.at("moved_bytes"), 1250 + 1875 + 3750 + 100);
    EXPECT_EQ(moved.at("most_resizes"), 6);
    for (const char *factor :
         {"smaller", "the same size", "to 1.25 times", "to 1.5 times", "to 2 times", "to 4 times"}) {
        EXPECT_EQ(moved.at("by_factor").at(factor), 1) << factor;
    }
    EXPECT_EQ(moved.at("freed_blocks_by_resizes").at("4 to 7"), 1);
    const ordered_json &ages = all.at("lifetimes");
    EXPECT_EQ(ages.at("by_ns").at(0),
              (ordered_json{{"from", 10000}, {"to", 20000}, {"blocks", 1}, {"bytes", 100}}));
    EXPECT_EQ(ages.at("by_allocated_bytes").at(0),
              (ordered_json{{"from", 32768}, {"to", 65536}, {"blocks", 1}, {"bytes", 100}}));
    for (const ordered_json &row : all.at("classes")) {
        if (row.at("to") == 15360) {
            EXPECT_EQ(row.at("most_rounded"), 15360) << "one block after the other";
        } else if (!row.at("class")) {
            EXPECT_EQ(row.at("to"), 16) << "no class has such an alignment";
            EXPECT_EQ(row.at("rounded"), 4096);
        }
    }
    EXPECT_FALSE(all.at("classes").back().at("class"));
    const ordered_json &bins = all.at("over_time");
    ASSERT_EQ(bins.at("interval_ns"), 1000);
    EXPECT_EQ(bins.at("rounded").at(6), 16448 + 8) << "nothing happened";
    const ordered_json &threads = all.at("threads").at("busiest");
    EXPECT_EQ(threads.at(0).at("first_ns"), 0);
    EXPECT_EQ(threads.at(0).at("last_ns"), 14000);
    EXPECT_EQ(threads.at(0).at("most_live"), 15000);
    EXPECT_EQ(threads.at(1).at("first_ns"), 10000);
}

} // namespace
} // namespace cairn::cli
