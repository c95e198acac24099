// SPDX-License-Identifier: MIT
//
// Trace files: what a recorder would leave, whole, cut off, damaged; the order of what is read.
#include <src/cli/trace_file.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <vector>

#include <unistd.h>

// The reader is part of this program.
#include <src/cli/trace_file.cpp>

namespace cairn::cli {
namespace {

class TraceFileTest : public testing::Test {
protected:
    TraceFileTest() {
        header_.mark = trace::file_mark;
        header_.version = trace::format_version;
        header_.chunk = trace::chunk_bytes;
        header_.started = {1000, 0};
        header_.ended = {2000, 10000}; // 10 ns a tick
    }
    ~TraceFileTest() override { unlink(path_.c_str()); }

    /// Starts a chunk of a thread whose clock is at `ticks`.
    void chunk(std::uint64_t image, std::uint64_t thread, std::uint64_t ticks) {
        chunks_.emplace_back();
        add(Record::make(Op::thread, 0, image, thread));
        add({ticks, static_cast<std::uint64_t>(Op::time)});
    }
    void add(const Record &record) { chunks_.back().push_back(record); }

    const std::string &write(std::size_t cut = 0) {
        std::vector<char> bytes(trace::header_bytes + chunks_.size() * trace::chunk_bytes);
        std::memcpy(bytes.data(), &header_, sizeof header_);
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            std::memcpy(bytes.data() + trace::header_bytes + i * trace::chunk_bytes, chunks_[i].data(),
                        chunks_[i].size() * sizeof(Record));
        }
        std::ofstream file(path_, std::ios::binary);
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size() - cut));
        return path_;
    }

    static std::vector<TraceEvent> events(const TraceFile &file, std::uint64_t image = 1) {
        std::vector<TraceEvent> all;
        file.for_each(image, [&](const TraceEvent &event) { all.push_back(event); });
        return all;
    }

    std::string complaint() {
        try {
            const TraceFile file(path_);
        } catch (const BadTrace &why) {
            return why.what();
        }
        return "";
    }

    trace::Header header_{};
    std::string path_ = testing::TempDir() + "cairn_trace_" + std::to_string(getpid());
    std::vector<std::vector<Record>> chunks_;
};

TEST_F(TraceFileTest, RecordsKeepWhatIsPutIntoThem) {
    const Record r =
        Record::make(Op::realloc_to, 0xfffffffe, 0xffffdeadbeef, (std::uint64_t{1} << 38) - 7, 47);
    EXPECT_EQ(r.op(), Op::realloc_to);
    EXPECT_EQ(r.ticks(), 0xfffffffeu);
    EXPECT_EQ(r.address(), 0xffffdeadbeefu);
    EXPECT_EQ(r.size(), (std::uint64_t{1} << 38) - 7);
    EXPECT_EQ(r.alignment_log2(), 47u);
    EXPECT_EQ(Record::make(Op::malloc, 0, 16, SIZE_MAX).size(), Record::most_size);
}

TEST_F(TraceFileTest, ThreadsAreMergedByTimeAndStayInTheirOrder) {
    chunk(1, 77, 1100);
    add(Record::make(Op::process, 0, 1, 4711));
    add(Record::make(Op::malloc, 1, 0x1000, 100)); // 1101
    add(Record::make(Op::free, 20, 0x2000, 0));    // 1121
    add(Record::make(Op::calloc, 0, 0x3000, 7));   // 1121
    chunk(1, 78, 1105);
    add(Record::make(Op::aligned, 5, 0x2000, 64, 6)); // 1110
    add(Record::make(Op::thread, 0, 1, 79));          // it ends, another one goes on
    add({1200, static_cast<std::uint64_t>(Op::time)});
    add(Record::make(Op::free, 1, 0x1000, 100)); // 1201
    chunk(1, 77, 1300);                          // and the first has a second chunk
    add(Record::make(Op::free, 0, 0x3000, 0));
    const TraceFile file(write());
    EXPECT_EQ(file.threads().size(), 3u);
    EXPECT_EQ(file.images(), 1u);
    EXPECT_EQ(file.pid(1), 4711u);
    const auto all = events(file);
    ASSERT_EQ(all.size(), 6u);
    EXPECT_EQ(all[0].address, 0x1000u);
    EXPECT_EQ(all[0].nanoseconds, 1010u);
    EXPECT_EQ(all[1].alignment_log2, 6);
    EXPECT_EQ(all[2].op, Op::free);
    EXPECT_EQ(all[3].op, Op::calloc);
    EXPECT_EQ(file.threads()[all[4].thread].id, 79u);
    EXPECT_EQ(all[5].nanoseconds, 3000u);
}

TEST_F(TraceFileTest, EachProcessImageIsReadAlone) {
    chunk(1, 5, 1100);
    add(Record::make(Op::malloc, 0, 0x1000, 1));
    chunk(2, 6, 1050);
    add(Record::make(Op::malloc, 0, 0x1000, 2));
    const TraceFile file(write());
    EXPECT_EQ(file.images(), 2u);
    EXPECT_EQ(events(file, 1).size(), 1u);
    EXPECT_EQ(events(file, 2).at(0).size, 2u);
    EXPECT_EQ(events(file, 0).size(), 2u);
}

TEST_F(TraceFileTest, WhatWasNotWrittenIsNotThere) {
    chunk(1, 5, 1100);
    for (std::uint64_t i = 0; i < 100; ++i) {
        add(Record::make(Op::malloc, 1, 0x1000 + i * 16, i));
    }
    const TraceFile file(write(trace::chunk_bytes - 50 * sizeof(Record) - 3)); // cut in the midst of a record
    EXPECT_EQ(events(file).size(), 48u);
    EXPECT_FALSE(file.stopped_early());
}

TEST_F(TraceFileTest, ForeignAndDamagedFilesAreOneLine) {
    EXPECT_NE(complaint().find("No such file"), std::string::npos);
    std::ofstream(path_) << "something else";
    EXPECT_NE(complaint().find("is no trace"), std::string::npos);
    header_.mark = 1;
    write();
    EXPECT_NE(complaint().find("is no trace"), std::string::npos);
    header_.mark = trace::file_mark;
    header_.version = 9;
    write();
    EXPECT_NE(complaint().find("another version"), std::string::npos);
    header_.version = trace::format_version;
    chunk(1, 5, 1100);
    add({5, 15}); // no such operation
    write();
    EXPECT_NE(complaint().find("is damaged at byte 4128"), std::string::npos) << complaint();
    chunks_.clear();
    chunks_.push_back({Record::make(Op::malloc, 0, 0x1000, 1)}); // nobody's
    write();
    EXPECT_NE(complaint().find("is damaged at byte 4096"), std::string::npos) << complaint();
    chunks_.clear();
    chunk(std::uint64_t{1} << 40, 5, 1100);
    write();
    EXPECT_NE(complaint().find("is damaged"), std::string::npos);
}

} // namespace
} // namespace cairn::cli
