// SPDX-License-Identifier: MIT
//
// Trace files: what a recorder would leave, whole, cut off, damaged; the order of what is read.
#include <src/cli/trace_file.hpp>
#include <src/cli/trace_maker.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <vector>

#include <unistd.h>

// The reader and the maker are part of this program.
#include <src/cli/trace_file.cpp>
#include <src/cli/trace_maker.cpp>

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
        begin(image, thread, ticks);
    }
    /// Goes on in it with a thread.
    void begin(std::uint64_t image, std::uint64_t thread, std::uint64_t ticks) {
        coder_ = {};
        add(Op::thread, 0, image, thread);
        add(Op::time, ticks, 0, 0);
    }
    /// How many bytes it took.
    std::size_t add(Op op, std::uint64_t ticks, std::uint64_t address, std::uint64_t size,
                    unsigned alignment_log2 = 0) {
        Word words[trace::Coder::most_words] = {};
        const std::size_t count = coder_.write({op, ticks, address, size, alignment_log2}, words);
        const auto *const bytes = reinterpret_cast<const Byte *>(words);
        chunks_.back().insert(chunks_.back().end(), bytes, bytes + count);
        return count;
    }

    const std::string &write(std::size_t cut = 0) {
        std::vector<char> bytes(trace::header_bytes + chunks_.size() * trace::chunk_bytes);
        std::memcpy(bytes.data(), &header_, sizeof header_);
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            std::memcpy(bytes.data() + trace::header_bytes + i * trace::chunk_bytes, chunks_[i].data(),
                        chunks_[i].size());
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
    std::vector<std::vector<Byte>> chunks_;
    trace::Coder coder_;
};

/// What is left of records that are written and read one after the other, and how many bytes each one takes.
struct Written {
    std::size_t bytes;
    Record record;
};
std::vector<Written> there_and_back(const std::vector<Record> &records) {
    trace::Coder writer;
    trace::Coder reader;
    std::vector<Written> all;
    for (const Record &record : records) {
        Word words[trace::Coder::most_words] = {};
        Written written{writer.write(record, words), {}};
        const auto *const bytes = reinterpret_cast<const Byte *>(words);
        EXPECT_FALSE(trace::Coder::at_end(bytes));
        EXPECT_TRUE(written.bytes >= sizeof(Word) || bytes[written.bytes] == 0); // nothing behind it yet
        trace::Coder cut_off = reader;
        EXPECT_EQ(cut_off.read(bytes, bytes + written.bytes - 1, written.record), 0u);
        EXPECT_EQ(reader.read(bytes, bytes + written.bytes, written.record), written.bytes);
        all.push_back(written);
    }
    return all;
}

void expect_same(const Record &a, const Record &b) {
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.ticks, b.ticks);
    EXPECT_EQ(a.address, b.address);
    EXPECT_EQ(a.size, b.size);
    EXPECT_EQ(a.alignment_log2, b.alignment_log2);
}

TEST_F(TraceFileTest, RecordsKeepWhatIsPutIntoThem) {
    constexpr auto reach = [](int bits) { return std::uint64_t{8} << (bits - 1); };
    const Record start{Op::malloc, 1, 0x7fffdeadbee8, 16};
    const struct {
        std::size_t bytes;
        Record record;
    } rows[] = {
        {5, {Op::free, 0, start.address, 0}},
        {5, {Op::free, 8191, start.address + reach(24) - 8, 0}},
        {5, {Op::free, 8191, start.address - reach(24), 0}},
        {6, {Op::malloc, 0, start.address, 0}},
        {6, {Op::malloc, 8191, start.address + reach(22) - 8, 1023}},
        {6, {Op::malloc, 8191, start.address - reach(22), 1023}},
        {8, {Op::free, 8192, start.address, 0}},
        {8, {Op::free, 0, start.address, 1}},
        {8, {Op::free, 0, start.address + reach(24), 0}},
        {8, {Op::free, 0, start.address - reach(24) - 8, 0}},
        {8, {Op::malloc, 8192, start.address, 0}},
        {8, {Op::malloc, 0, start.address, 1024}},
        {8, {Op::malloc, 0, start.address + reach(22), 0}},
        {8, {Op::malloc, 0, start.address - reach(22) - 8, 0}},
        {8, {Op::calloc, 65535, start.address + reach(32) - 8, 4095}},
        {8, {Op::free, 65535, start.address - reach(32), 4095}},
        {8, {Op::realloc_from, 7, start.address - 8, 0}},
        {8, {Op::realloc_to, 7, start.address + 8, 1}},
        {16, {Op::malloc, 65536, start.address, 0}},
        {16, {Op::malloc, 0, start.address, 4096}},
        {16, {Op::malloc, 0, start.address + 4, 1}},
        {16, {Op::free, 0, start.address + reach(32), 0}},
        {16, {Op::free, 0, start.address - reach(32) - 8, 0}},
        {16, {Op::realloc_to, 0, 0, 10}},
        {16, {Op::aligned, 0, start.address, 1, 6}},
        {16, {Op::aligned, Record::most_ticks, 0xffffdeadbeef, Record::most_size - 7, 47}},
        {16, {Op::time, 0xfedcba9876543210, 0, 0}},
        {16, {Op::thread, 0, 3, 70000}},
        {16, {Op::process, 0, 3, 70000}},
    };
    for (const auto &row : rows) {
        const auto all = there_and_back({start, row.record, {Op::free, 3, row.record.address & ~7ULL, 0}});
        EXPECT_EQ(all[1].bytes, row.bytes);
        expect_same(all[1].record, row.record);
        expect_same(all[2].record, {Op::free, 3, row.record.address & ~7ULL, 0});
    }
    EXPECT_EQ(there_and_back({{Op::malloc, 0, 16, SIZE_MAX}})[0].record.size, Record::most_size);
}

TEST_F(TraceFileTest, AddressesAreToldFromTheLastRecordOfAWordOrTwo) {
    const auto all = there_and_back({{Op::malloc, 1, 0x7f0000001003, 16},
                                     {Op::malloc, 1, 0x7f0000001008, 16},
                                     {Op::malloc, 1, 0x550000001000, 16},
                                     {Op::free, 1, 0x550000001000, 0},
                                     {Op::free, 1, 0x550010001000, 0},
                                     {Op::malloc, 1, 0x550010000000, 16},
                                     {Op::free, 1, 0x7f0000001008, 0}});
    const std::size_t bytes[] = {16, 6, 16, 5, 8, 6, 16};
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].bytes, bytes[i]) << i;
    }
    EXPECT_EQ(all[1].record.address, 0x7f0000001008u);
    EXPECT_EQ(all[3].record.address, 0x550000001000u);
    EXPECT_EQ(all[5].record.address, 0x550010000000u);
}

TEST_F(TraceFileTest, ThreadsAreMergedByTimeAndStayInTheirOrder) {
    chunk(1, 77, 1100);
    add(Op::process, 0, 1, 4711);
    add(Op::malloc, 1, 0x1000, 100); // 1101
    add(Op::free, 20, 0x2000, 0);    // 1121
    add(Op::calloc, 0, 0x3000, 7);   // 1121
    chunk(1, 78, 1105);
    add(Op::aligned, 5, 0x2000, 64, 6); // 1110
    begin(1, 79, 1200);                 // it ends, another one goes on
    add(Op::free, 1, 0x1000, 100);      // 1201
    chunk(1, 77, 1300);                 // and the first has a second chunk
    add(Op::free, 0, 0x3000, 0);
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

TEST_F(TraceFileTest, ClocksThatWereReadEarlyArePutRight) {
    chunk(1, 5, 1100);
    add(Op::malloc, 0, 0x1000, 1); // 1100
    add(Op::free, 20, 0x1000, 0);  // 1120
    add(Op::free, 20, 0x2000, 0);  // 1140, the other thread's
    add(Op::free, 10, 0x9000, 0);  // 1150, from before the trace
    add(Op::realloc_from, 5, 0x3000, 0);
    add(Op::realloc_to, 5, 0, 7); // 1160, it fails
    add(Op::free, 5, 0x3000, 0);
    chunk(1, 6, 1110);
    add(Op::malloc, 8, 0x1000, 2);   // 1118, before it was free
    add(Op::malloc, 23, 0x2000, 3);  // 1141, after it was free
    add(Op::malloc, 1, 0x3000, 4);   // 1142
    add(Op::malloc, 24, 0x3000, 5);  // 1166, after a free at 1165
    add(Op::malloc, 500, 0x8000, 6); // 1666
    const TraceFile file(write());
    const auto all = events(file);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
    std::uint64_t last = 0;
    for (const TraceEvent &event : all) {
        calls.emplace_back(event.address, event.size);
        EXPECT_GE(event.nanoseconds, last);
        last = event.nanoseconds;
    }
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
        {0x1000, 1}, {0x1000, 0}, {0x1000, 2}, {0x2000, 3}, {0x2000, 0}, {0x3000, 4},
        {0x9000, 0}, {0x3000, 0}, {0, 7},      {0x3000, 0}, {0x3000, 5}, {0x8000, 6}};
    EXPECT_EQ(calls, expected);
}

TEST_F(TraceFileTest, EachProcessImageIsReadAlone) {
    chunk(1, 5, 1100);
    add(Op::malloc, 0, 0x1000, 1);
    chunk(2, 6, 1050);
    add(Op::malloc, 0, 0x1000, 2);
    const TraceFile file(write());
    EXPECT_EQ(file.images(), 2u);
    EXPECT_EQ(events(file, 1).size(), 1u);
    EXPECT_EQ(events(file, 2).at(0).size, 2u);
    EXPECT_EQ(events(file, 0).size(), 2u);
}

TEST_F(TraceFileTest, WhatWasNotWrittenIsNotThere) {
    chunk(1, 5, 1100);
    for (std::uint64_t i = 0; i < 100; ++i) {
        EXPECT_EQ(add(Op::malloc, 1, 0x1000 + i * 16, 100000), 16u);
    }
    // Cut in the midst of a word, and between the words of a record.
    for (const std::size_t cut : {4 + 2 * 48, 5 + 2 * 48}) {
        const TraceFile file(write(trace::chunk_bytes - cut * sizeof(Word) - 3));
        EXPECT_EQ(events(file).size(), 48u);
    }
    const TraceFile file(write());
    EXPECT_EQ(events(file).size(), 100u);
    EXPECT_FALSE(file.stopped_early());
}

TEST_F(TraceFileTest, WhatThreadsLeaveIsWrittenOnce) {
    std::vector<Word> slot(trace::chunk_words);
    const auto fill = [&](std::uint64_t thread, std::uint64_t address) {
        chunk(1, thread, 1100);
        add(Op::malloc, 0, address, 1);
        slot.assign(trace::chunk_words, 0);
        std::memcpy(slot.data(), chunks_.back().data(), chunks_.back().size());
        chunks_.clear();
    };
    {
        TraceMaker maker(path_);
        const Descriptor memory(maker.memory_path(), O_RDWR);
        void *const mapped = mmap(nullptr, trace::chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        auto *const shared = static_cast<trace::Shared *>(mapped);
        shared->slots = 3;
        shared->chunks = 2;
        fill(5, 0x1000);
        slot[trace::slot_chunk] = 1; // it is, or was just now, being written
        {
            const Descriptor file(path_, O_WRONLY);
            EXPECT_EQ(pwrite(file, slot.data(), trace::chunk_bytes, trace::header_bytes),
                      static_cast<ssize_t>(trace::chunk_bytes));
        }
        EXPECT_EQ(pwrite(memory, slot.data(), trace::chunk_bytes, trace::chunk_bytes),
                  static_cast<ssize_t>(trace::chunk_bytes));
        fill(6, 0x2000);
        EXPECT_EQ(pwrite(memory, slot.data(), trace::chunk_bytes, 2 * trace::chunk_bytes),
                  static_cast<ssize_t>(trace::chunk_bytes));
        fill(7, 0x3000);
        {
            const Descriptor file(path_, O_WRONLY);
            EXPECT_EQ(pwrite(file, slot.data(), trace::chunk_bytes, trace::header_bytes + trace::chunk_bytes),
                      static_cast<ssize_t>(trace::chunk_bytes));
        }
        slot[0] = 0; // it was written, and is empty again
        slot[trace::slot_chunk] = 2;
        EXPECT_EQ(pwrite(memory, slot.data(), trace::chunk_bytes, 3 * trace::chunk_bytes),
                  static_cast<ssize_t>(trace::chunk_bytes));
        EXPECT_TRUE(maker.finish(path_));
        munmap(mapped, trace::chunk_bytes);
    }
    const TraceFile file(path_);
    const auto all = events(file);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].address, 0x1000u);
    EXPECT_EQ(all[1].address, 0x3000u); // of the same moment, before it in the file
    EXPECT_EQ(all[2].address, 0x2000u);
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
    chunks_.back().push_back(7); // no such operation
    write();
    EXPECT_NE(complaint().find("is damaged at byte 4128"), std::string::npos) << complaint();
    chunks_.clear();
    chunks_.emplace_back();
    add(Op::malloc, 0, 0x1000, 1); // nobody's
    write();
    EXPECT_NE(complaint().find("is damaged at byte 4096"), std::string::npos) << complaint();
    chunks_.clear();
    chunk(std::uint64_t{1} << 40, 5, 1100);
    write();
    EXPECT_NE(complaint().find("is damaged"), std::string::npos);
}

} // namespace
} // namespace cairn::cli
