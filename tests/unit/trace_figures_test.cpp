// SPDX-License-Identifier: MIT
//
// Figures of a trace: what they are made of, for sizes of every length that a trace can have.
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
    /// A trace with one thread, and no calls but those that are taken.
    TraceFiguresTest() {
        const Header header{trace::file_mark, trace::format_version, trace::chunk_bytes,
                            {1000, 0},        {2000, 1000},          0};
        std::vector<char> bytes(trace::header_bytes);
        std::memcpy(bytes.data(), &header, sizeof header);
        Word words[trace::Coder::most_words] = {};
        trace::Coder coder;
        const std::size_t count = coder.write({Op::thread, 0, 1, 5}, words);
        const char *const written = reinterpret_cast<const char *>(words);
        bytes.insert(bytes.end(), written, written + count);
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

} // namespace
} // namespace cairn::cli
