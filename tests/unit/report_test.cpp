// SPDX-License-Identifier: MIT
//
// The forms of a report: the text a person reads, the JSON and the XML that programs read. The writer is part
// of the malloc and not of the kit, so it is compiled in here.
#include <src/malloc/report.cpp>

#include <gtest/gtest.h>

#include <string>

using namespace cairn;

namespace {

void append(void *to, const char *text, std::size_t length) noexcept {
    static_cast<std::string *>(to)->append(text, length);
}

template <class Write>
std::string written(Write &&write) {
    std::string text;
    {
        TextOut out(append, &text);
        write(out);
    }
    return text;
}

Statistics sample() {
    Statistics s;
    s.small_live = 3000;
    s.small_resident = 8192;
    s.superblocks = 2;
    s.heaps = 1;
    s.heaps_peak = 4;
    s.large_live = 5 * 65536;
    s.large_live_blocks = 3;
    s.huge_live = 100 << 20;
    s.huge_live_blocks = 1;
    s.free_dirty = 1536;
    s.mapped = 200 << 20;
    s.mapped_peak = 300 << 20;
    s.purged = UINT64_MAX;
    s.superblocks_fresh = 17;
    s.size_classes = 3;
    s.by_class[0] = {8, 1, 250, 6};
    s.by_class[1] = {16, 0, 0, 0};
    s.by_class[2] = {1000, 1, 1, 7};
    return s;
}

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

TEST(TextOut, Numbers) {
    EXPECT_EQ(written([](TextOut &out) { out << std::uint64_t{0} << ' ' << UINT64_MAX << '!'; }),
              "0 18446744073709551615!");
    EXPECT_EQ(written([](TextOut &out) { out.right(7, 3).right(1234, 3).right(0, 2); }), "  71234 0");
}

TEST(TextOut, MoreThanTheBufferHolds) {
    std::string wanted;
    const std::string got = written([&](TextOut &out) {
        for (std::uint64_t i = 0; i < 3000; ++i) {
            out << i << "; ";
            wanted += std::to_string(i) + "; ";
        }
    });
    EXPECT_EQ(got, wanted);
}

TEST(Report, TextSaysWhatMatters) {
    const std::string text = written([](TextOut &out) { report::write_text(out, sample(), {"prog", 42}); });
    EXPECT_EQ(text.rfind("cairn " CAIRN_VERSION_STRING ": memory of process 42 (prog)\n", 0), 0U) << text;
    for (const char *part :
         {"    100.3 MiB  in blocks that the program holds\n", // live
          "2.9 KiB  in 251 blocks, 2 superblocks with      8.0 KiB\n", "    320.0 KiB  in 3 blocks\n",
          "    100.0 MiB  in 1 blocks\n", "      1.5 KiB  not yet given back",
          "at most   300.0 MiB at one time", "heaps 1 in use, at most 4 at one time\n",
          "superblocks made 17,", "           8            1          250            6\n",
          "        1000            1            1            7\n"}) {
        EXPECT_TRUE(has(text, part)) << part << "\nis not in\n" << text;
    }
    EXPECT_FALSE(has(text, "\n          16  ")) << "a class without superblocks is not worth a row\n" << text;
    EXPECT_TRUE(has(text, "     15.9 EiB")) << text;
}

TEST(Report, EachFigureOfTheTextStandsInItsPlace) {
    Statistics s;
    s.small_live = 1023;
    s.large_live = 1024;
    s.huge_live = 1025 * 1024;
    s.huge_live_blocks = 2;
    s.metadata = 3072;
    s.mapped = 4096;
    s.mapped_peak = 5120;
    s.purged = 6144;
    s.purges = 7;
    s.superblocks_fresh = 8;
    s.superblocks_to_global = 9;
    s.superblocks_from_global = 10;
    const std::string text = written([&](TextOut &out) { report::write_text(out, s, {"prog", 42}); });
    for (const char *part :
         {"    small        1023   B    in 0 blocks", "    large           1.0 KiB  in 0 blocks\n",
          "    huge            1.0 MiB  in 2 blocks\n", "  metadata          3.0 KiB  at most\n",
          "  mapped            4.0 KiB  of address space, at most     5.0 KiB at one time\n",
          "  given back        6.0 KiB  since the start, in 7 calls\n",
          "  superblocks made 8, to the global heap 9, from it 10\n"}) {
        EXPECT_TRUE(has(text, part)) << part << "\nis not in\n" << text;
    }
}

TEST(Report, TextOfNothing) {
    const std::string text = written([](TextOut &out) { report::write_text(out, {}, {}); });
    EXPECT_FALSE(has(text, "block size")) << text;
    EXPECT_TRUE(has(text, "live              0   B    in blocks")) << text;
}

TEST(Report, JsonHasEveryCounterUnderItsName) {
    const std::string text = written([](TextOut &out) { report::write_json(out, sample(), {"prog", 42}); });
    EXPECT_EQ(text,
              "{\"allocator\":\"cairn\",\"version\":\"" CAIRN_VERSION_STRING
              "\",\"schema\":1,\"pid\":42,\"program\":\"prog\",\"live\":105188280,\"small_live\":3000,"
              "\"small_resident\":8192,\"superblocks\":2,\"heaps\":1,\"heaps_peak\":4,\"large_live\":327680,"
              "\"large_live_blocks\":3,\"huge_live\":104857600,\"huge_live_blocks\":1,\"free_dirty\":1536,"
              "\"free_clean\":0,\"mapped\":209715200,\"mapped_peak\":314572800,\"metadata\":0,"
              "\"purged\":18446744073709551615,\"purges\":0,\"superblocks_to_global\":0,"
              "\"superblocks_from_global\":0,\"superblocks_fresh\":17,\"by_class\":["
              "{\"block_size\":8,\"superblocks\":1,\"live_blocks\":250,\"free_blocks\":6},"
              "{\"block_size\":16,\"superblocks\":0,\"live_blocks\":0,\"free_blocks\":0},"
              "{\"block_size\":1000,\"superblocks\":1,\"live_blocks\":1,\"free_blocks\":7}]}\n");
}

TEST(Report, JsonQuotesTheName) {
    const std::string text =
        written([](TextOut &out) { report::write_json(out, {}, {"a\"b\\c\n\x01\xfftail", 0}); });
    EXPECT_TRUE(has(text, R"("program":"a\"b\\c\u000a\u0001\u00fftail",)")) << text;
}

TEST(Report, XmlIsThatOfGlibc) {
    const std::string text = written([](TextOut &out) { report::write_xml(out, sample()); });
    const std::string totals = "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
                               "<total type=\"rest\" count=\"13\" size=\"6728\"/>\n"
                               "<total type=\"mmap\" count=\"1\" size=\"104857600\"/>\n"
                               "<system type=\"current\" size=\"337408\"/>\n"
                               "<system type=\"max\" size=\"314572800\"/>\n"
                               "<aspace type=\"total\" size=\"209715200\"/>\n"
                               "<aspace type=\"mprotect\" size=\"209715200\"/>\n";
    EXPECT_EQ(text, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n"
                    "  <size from=\"1\" to=\"8\" total=\"48\" count=\"6\"/>\n"
                    "  <size from=\"17\" to=\"1000\" total=\"7000\" count=\"7\"/>\n"
                    "</sizes>\n" +
                        totals + "</heap>\n" + totals + "</malloc>\n");
}

TEST(Report, TheArenaIsUsedAndFree) {
    Statistics s = sample();
    report::Arena arena = report::arena_of(s);
    EXPECT_EQ(arena.used, 3000U + 5 * 65536);
    EXPECT_EQ(arena.free, 1536U + 8192 - 3000);
    EXPECT_EQ(arena.free_blocks, 13U);
    EXPECT_EQ(arena.size(), arena.used + arena.free);
    s.small_live = 9000; // read at another moment than small_resident
    EXPECT_EQ(report::arena_of(s).free, 1536U);
}

} // namespace
