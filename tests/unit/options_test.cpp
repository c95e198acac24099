// SPDX-License-Identifier: MIT
//
// CAIRN_OPTIONS: every row of the table, every form of a value, and every complaint. The parser is part of
// the malloc and not of the kit, so it is compiled in here.
#include <src/malloc/options.cpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace cairn;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

namespace {

/// What the parser says about a text, and the options after it.
struct Outcome {
    Options options;
    std::string complaint;
};

Outcome parse(const std::string &text) {
    Outcome outcome;
    CaptureStderr();
    parse_options(text.c_str(), outcome.options);
    outcome.complaint = GetCapturedStderr();
    return outcome;
}

Options quiet(const std::string &text) {
    const Outcome outcome = parse(text);
    EXPECT_EQ(outcome.complaint, "") << text;
    return outcome.options;
}

std::string complaint(const std::string &text) {
    return parse(text).complaint;
}

const Option &row(const std::string &name) {
    for (const Option &option : option_table) {
        if (name == option.name) {
            return option;
        }
    }
    throw std::out_of_range(name);
}

std::string text_of(const std::string &name, std::int64_t value) {
    return option_text(row(name), value).characters;
}

TEST(Options, NothingChangesNothing) {
    for (const char *text : {"", ",", ",,,"}) {
        const Options options = quiet(text);
        EXPECT_EQ(options.purge_delay_ms, 500);
        EXPECT_TRUE(options.background);
        EXPECT_EQ(options.huge_pages, HugePages::growth);
        EXPECT_EQ(options.retain_bytes, 1U << 20);
        EXPECT_FALSE(options.deep_binding);
    }
}

TEST(Options, Times) {
    EXPECT_EQ(quiet("purge_delay:0").purge_delay_ms, 0);
    EXPECT_EQ(quiet("purge_delay:250").purge_delay_ms, 250);
    EXPECT_EQ(quiet("purge_delay:250ms").purge_delay_ms, 250);
    EXPECT_EQ(quiet("purge_delay:3s").purge_delay_ms, 3000);
    EXPECT_EQ(quiet("purge_delay:never").purge_delay_ms, -1);
    EXPECT_EQ(quiet("purge_delay:-1").purge_delay_ms, -1);
}

TEST(Options, Sizes) {
    EXPECT_EQ(quiet("retain:0").retain_bytes, 0U);
    EXPECT_EQ(quiet("retain:4097").retain_bytes, 4097U);
    EXPECT_EQ(quiet("retain:64K").retain_bytes, 64U << 10);
    EXPECT_EQ(quiet("retain:64k").retain_bytes, 64U << 10);
    EXPECT_EQ(quiet("retain:3M").retain_bytes, 3U << 20);
    EXPECT_EQ(quiet("retain:2g").retain_bytes, std::size_t{2} << 30);
}

TEST(Options, Booleans) {
    for (const char *text : {"background:off", "background:0", "background:false"}) {
        EXPECT_FALSE(quiet(text).background) << text;
    }
    for (const char *text : {"background:on", "background:1", "background:true"}) {
        EXPECT_TRUE(quiet(std::string("background:off,") + text).background) << text;
    }
}

TEST(Options, Choices) {
    EXPECT_EQ(quiet("huge_pages:off").huge_pages, HugePages::off);
    EXPECT_EQ(quiet("huge_pages:off,huge_pages:growth").huge_pages, HugePages::growth);
    EXPECT_EQ(quiet("huge_pages:dense").huge_pages, HugePages::dense);
    EXPECT_EQ(quiet("huge_pages:always").huge_pages, HugePages::always);
    EXPECT_EQ(quiet("huge_pages:always,huge_pages:off").huge_pages, HugePages::off);
}

TEST(Options, SeveralAtOnce) {
    const Options options =
        quiet("purge_delay:1s,background:off,,huge_pages:dense,retain:8M,deep_binding:on,");
    EXPECT_EQ(options.purge_delay_ms, 1000);
    EXPECT_FALSE(options.background);
    EXPECT_EQ(options.huge_pages, HugePages::dense);
    EXPECT_EQ(options.retain_bytes, 8U << 20);
    EXPECT_TRUE(options.deep_binding);
}

TEST(Options, AnUnknownNameIsOneLineAndTheRestCounts) {
    const Outcome outcome = parse("decay:7,retain:2M");
    EXPECT_EQ(outcome.complaint, "cairn: CAIRN_OPTIONS: unknown option 'decay' (ignored)\n");
    EXPECT_EQ(outcome.options.retain_bytes, 2U << 20);
    EXPECT_EQ(complaint("retai:1"), "cairn: CAIRN_OPTIONS: unknown option 'retai' (ignored)\n");
    EXPECT_EQ(complaint("retainer:1"), "cairn: CAIRN_OPTIONS: unknown option 'retainer' (ignored)\n");
    EXPECT_EQ(complaint(":1"), "cairn: CAIRN_OPTIONS: unknown option '' (ignored)\n");
}

TEST(Options, AMissingValueIsOneLine) {
    EXPECT_EQ(complaint("background"), "cairn: CAIRN_OPTIONS: option 'background' needs a value (ignored)\n");
}

TEST(Options, ABadValueIsOneLineAndTheDefaultStays) {
    const Outcome outcome = parse("purge_delay:soon");
    EXPECT_EQ(outcome.complaint,
              "cairn: CAIRN_OPTIONS: bad value 'soon' for 'purge_delay', which takes a time such "
              "as 500ms or 2s, or never (ignored)\n");
    EXPECT_EQ(outcome.options.purge_delay_ms, 500);
    EXPECT_EQ(complaint("huge_pages:yes"),
              "cairn: CAIRN_OPTIONS: bad value 'yes' for 'huge_pages', which takes off, "
              "growth, dense or always (ignored)\n");
    for (const char *text : {"purge_delay:",
                             "purge_delay:5m",
                             "purge_delay:-2",
                             "purge_delay:9999999999",
                             "purge_delay:1 s",
                             "purge_delay:99999999999999999999",
                             "retain:-1",
                             "retain:K",
                             "retain:1T",
                             "retain:never",
                             "retain:1.5M",
                             "retain:9223372036854775808",
                             "retain:9000000000000000000K",
                             "retain:18446744073709551617",
                             "background:2",
                             "background:",
                             "background:yes",
                             "huge_pages:",
                             "huge_pages:of",
                             "huge_pages:offf"}) {
        const Outcome bad = parse(text);
        EXPECT_NE(bad.complaint.find("bad value"), std::string::npos) << text << ": " << bad.complaint;
        EXPECT_EQ(std::count(bad.complaint.begin(), bad.complaint.end(), '\n'), 1) << text;
        for (const Option &option : option_table) {
            EXPECT_EQ(option.get(bad.options), option.get(Options{})) << text;
        }
    }
}

TEST(Options, AComplaintIsOneShortLineWhateverTheTextIs) {
    const std::string said = complaint("retain:\n\x1b[31m\xff\x7f" + std::string(5000, 'x'));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    EXPECT_EQ(said.back(), '\n');
    EXPECT_NE(said.find("'??[31m??" + std::string(63 - 8, 'x') + "' for"), std::string::npos) << said;
    EXPECT_LE(said.size(), 256U);
    EXPECT_NE(said.find("(ignored)"), std::string::npos) << said;
}

TEST(Options, TextOfAValue) {
    EXPECT_EQ(text_of("purge_delay", 500), "500ms");
    EXPECT_EQ(text_of("purge_delay", 0), "0");
    EXPECT_EQ(text_of("purge_delay", 2000), "2s");
    EXPECT_EQ(text_of("purge_delay", 2001), "2001ms");
    EXPECT_EQ(text_of("purge_delay", -1), "never");
    EXPECT_EQ(text_of("background", 0), "off");
    EXPECT_EQ(text_of("background", 1), "on");
    EXPECT_EQ(text_of("huge_pages", 1), "growth");
    EXPECT_EQ(text_of("retain", 0), "0");
    EXPECT_EQ(text_of("retain", 4097), "4097");
    EXPECT_EQ(text_of("retain", 64 << 10), "64K");
    EXPECT_EQ(text_of("retain", 1 << 20), "1M");
    EXPECT_EQ(text_of("retain", std::int64_t{3} << 30), "3G");
    EXPECT_EQ(text_of("retain", INT64_MAX), "9223372036854775807");
}

TEST(Options, TheTextOfEveryDefaultAndBorderParsesBack) {
    for (const Option &option : option_table) {
        for (const std::int64_t value : {option.get(Options{}), option.least, option.most}) {
            const std::string text = std::string(option.name) + ":" + option_text(option, value).characters;
            EXPECT_EQ(option.get(quiet(text)), value) << text;
        }
    }
}

TEST(Options, TheEnvironmentIsRead) {
    EXPECT_EQ(environment_value("CAIRN_OPTIONS_OF_NOBODY"), nullptr);
    ASSERT_EQ(unsetenv("CAIRN_OPTIONS"), 0);
    ASSERT_EQ(setenv("CAIRN_OPTIONS2", "retain:9M", 1), 0); // the first of the two
    ASSERT_EQ(setenv("CAIRN_OPTIONS", "retain:7M", 1), 0);
    read_options();
    EXPECT_EQ(options_in_force().retain_bytes, 7U << 20);
    ASSERT_EQ(unsetenv("CAIRN_OPTIONS"), 0);
    read_options();
    EXPECT_EQ(options_in_force().retain_bytes, 7U << 20);
}

TEST(Options, TheManualPageSaysWhatTheTableSays) {
    const char *const root = getenv("SOURCE_DIR");
    if (root == nullptr) {
        GTEST_SKIP() << "SOURCE_DIR is not set";
    }
    std::ifstream file(std::string(root) + "/man/cairn.1");
    std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(page.empty());
    for (char &c : page) { // the page breaks its lines where it likes
        c = c == '\n' ? ' ' : c;
    }
    for (const Option &option : option_table) {
        const std::string value = option_text(option, option.get(Options{})).characters;
        EXPECT_NE(page.find(std::string(".BI ") + option.name + ":"), std::string::npos) << option.name;
        EXPECT_NE(page.find(std::string(option.help) + " (" + value + ")."), std::string::npos)
            << option.help << " (" << value << ").";
    }
}

} // namespace
