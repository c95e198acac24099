// SPDX-License-Identifier: MIT
// The command line of a workload: --name VALUE, --help, and --scale PERCENT, which multiplies the amount of
// work and nothing else. It keeps off the heap, so that a workload's first malloc is the workload's own.
// Being what a main has first, the options are what ends last: when they do, everything is freed.
#pragma once

#include "drain.hpp"
#include "table.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace cairn::bench {

class Options {
public:
    Options(int argc, char **argv, const char *summary) : argc_(argc), argv_(argv), summary_(summary) {
        scale_ = number("scale", 100, "percent of the default amount of work");
    }
    ~Options() {
        linger_after_drain();
        say_tables();
    }
    Options(const Options &) = delete;
    Options &operator=(const Options &) = delete;

    // A figure, as the document gives it.
    std::uint64_t number(const char *name, std::uint64_t preset, const char *help) {
        const char *given = look_up({name, nullptr, preset, help});
        if (given == nullptr)
            return preset;
        char *end = nullptr;
        errno = 0;
        const std::uint64_t value = std::strtoull(given, &end, 10);
        if (end == given || *end != '\0' || *given == '-' || errno == ERANGE)
            refuse(name, given);
        return value;
    }

    // A number of things of which there must be one.
    std::uint64_t some(const char *name, std::uint64_t preset, const char *help) {
        const std::uint64_t value = number(name, preset, help);
        if (value == 0)
            refuse(name, "0");
        return value;
    }

    // The end of a range that begins with --low, from which Random draws.
    std::uint64_t high(std::uint64_t low, std::uint64_t preset, const char *help) {
        const std::uint64_t value = number("high", preset, help);
        if (value < low)
            refuse("high", "less than --low");
        if (value - low >= UINT32_MAX)
            refuse("high", "too long");
        return value;
    }

    // An amount of work: a figure that --scale multiplies; at least 1.
    std::uint64_t work(const char *name, std::uint64_t preset, const char *help) {
        std::uint64_t scaled = 0;
        if (__builtin_mul_overflow(number(name, preset, help), scale_, &scaled))
            refuse("scale", "too much");
        return scaled < 100 ? 1 : scaled / 100;
    }

    const char *word(const char *name, const char *preset, const char *help) {
        const char *given = look_up({name, preset, 0, help});
        return given == nullptr ? preset : given;
    }

    [[noreturn]] void refuse(const char *name, const char *value) const {
        std::fprintf(stderr, "%s: --%s: bad value '%s'\n", argv_[0], name, value);
        std::exit(2);
    }

    // To be called once everything is declared: answers --help, refuses what nobody asked for.
    void finish() const {
        for (int i = 1; i < argc_; i += 2) {
            const std::string_view argument = argv_[i];
            if (argument == "--help")
                explain();
            if (!declared(argument) || i + 1 == argc_) {
                std::fprintf(stderr, "%s: %s: %s (--help lists the options)\n", argv_[0], argv_[i],
                             declared(argument) ? "needs a value" : "no such option");
                std::exit(2);
            }
        }
    }

private:
    struct Entry {
        const char *name;
        const char *preset_word;
        std::uint64_t preset;
        const char *help;
    };

    static bool names(std::string_view argument, std::string_view name) {
        return argument.size() == name.size() + 2 && argument.starts_with("--") && argument.ends_with(name);
    }

    bool declared(std::string_view argument) const {
        for (std::size_t i = 0; i < count_; ++i)
            if (names(argument, entries_[i].name))
                return true;
        return false;
    }

    const char *look_up(Entry entry) {
        if (count_ == entries_.size())
            std::abort();
        entries_[count_++] = entry;
        for (int i = 1; i + 1 < argc_; i += 2)
            if (names(argv_[i], entry.name))
                return argv_[i + 1];
        return nullptr;
    }

    [[noreturn]] void explain() const {
        std::printf("%s: %s\n", argv_[0], summary_);
        for (std::size_t i = 0; i < count_; ++i) {
            const Entry &entry = entries_[i];
            if (entry.preset_word != nullptr)
                std::printf("  --%-12s %s (%s)\n", entry.name, entry.help, entry.preset_word);
            else
                std::printf("  --%-12s %s (%llu)\n", entry.name, entry.help,
                            static_cast<unsigned long long>(entry.preset));
        }
        std::exit(0);
    }

    int argc_;
    char **argv_;
    const char *summary_;
    std::array<Entry, 16> entries_{};
    std::size_t count_ = 0;
    std::uint64_t scale_ = 100;
};

} // namespace cairn::bench
