// SPDX-License-Identifier: MIT
//
// Options: the settings of a user, from the environment (CAIRN_OPTIONS=name:value,...) and by mallopt.
//
// Adds:    the values, and one table that describes each option. The parser, `cairn info` and the test that checks the
//          manual page read only this table.
// Errors:  an unknown name or a bad value is reported by one line on stderr; the option keeps its value.
// Threads: read_options is called at the start of the process, before there is a second thread.
// Cost:    nothing is allocated.
#pragma once

#include <cairn/core/bits.hpp>

#include <type_traits>

namespace cairn {

/// For which memory the kernel is asked for huge pages.
enum class HugePages : unsigned char {
    off,    ///< not asked: the system's own setting decides
    growth, ///< fresh runs, one page at a time, while a large process grows
    dense,  ///< huge blocks too
    always  ///< all memory
};

/// The default of each option is its value here.
struct Options {
    std::int64_t purge_delay_ms = 500; ///< 0: at once; -1: never
    bool background = true;            ///< a thread purges, also while the program is idle
    HugePages huge_pages = HugePages::growth;
    std::size_t retain_bytes = 1_MiB; ///< free memory that the purge clock does not purge
    bool deep_binding = false;        ///< dlopen keeps RTLD_DEEPBIND
};

enum class OptionKind : unsigned char { time, size, boolean, choice };

/// A row of the table. A value is a number: milliseconds, bytes, 0 or 1, or the index of a choice.
struct Option {
    const char *name;
    OptionKind kind;
    std::int64_t least; ///< -1 for a time: `never` is allowed
    std::int64_t most;
    const char *const *choices;
    const char *help;
    std::int64_t (*get)(const Options &);
    void (*set)(Options &, std::int64_t);
};

namespace detail {

template <auto Member>
constexpr std::int64_t get_option(const Options &options) {
    return static_cast<std::int64_t>(options.*Member);
}

template <auto Member>
constexpr void set_option(Options &options, std::int64_t value) {
    using Value = std::remove_reference_t<decltype(options.*Member)>;
    options.*Member = static_cast<Value>(value);
}

template <auto Member>
constexpr Option option(const char *name, OptionKind kind, std::int64_t least, std::int64_t most,
                        const char *const *choices, const char *help) {
    return {name, kind, least, most, choices, help, get_option<Member>, set_option<Member>};
}

inline constexpr const char *huge_pages_choices[] = {"off", "growth", "dense", "always"};
inline constexpr std::int64_t a_day_ms = std::int64_t{24} * 60 * 60 * 1000;
inline constexpr auto all_memory = std::int64_t{INT64_MAX};

} // namespace detail

inline constexpr Option option_table[] = {
    detail::option<&Options::purge_delay_ms>(
        "purge_delay", OptionKind::time, -1, detail::a_day_ms, nullptr,
        "how long memory stays free before it is given back to the system"),
    detail::option<&Options::background>(
        "background", OptionKind::boolean, 0, 1, nullptr,
        "give memory back from a background thread, also while the program makes no call"),
    detail::option<&Options::huge_pages>(
        "huge_pages", OptionKind::choice, 0, 3, detail::huge_pages_choices,
        "when to ask the kernel for huge pages: off, never; growth, one at a time when a process above "
        "48 MiB grows; dense, also for blocks above 16 MiB; always, for all memory"),
    detail::option<&Options::retain_bytes>("retain", OptionKind::size, 0, detail::all_memory, nullptr,
                                           "how much free memory is kept, however long it stays free"),
    detail::option<&Options::deep_binding>("deep_binding", OptionKind::boolean, 0, 1, nullptr,
                                           "load libraries with RTLD_DEEPBIND when a program asks for it; "
                                           "they then call the C library's malloc"),
};

/// Parses "name:value,name:value".
void parse_options(const char *text, Options &into) noexcept;

/// The options of this process.
Options &options_in_force() noexcept;

/// Parses CAIRN_OPTIONS, unless the program runs with raised privileges.
void read_options() noexcept;

} // namespace cairn
