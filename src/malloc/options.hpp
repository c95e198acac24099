// SPDX-License-Identifier: MIT
//
// Options: what a user may set, from the environment (CAIRN_OPTIONS=name:value,...) and by mallopt.
//
// Adds:    the values, and one table that says what each one is. The parser, `cairn info` and the tests that
//          check the manual page read the table and nothing else.
// Errors:  an unknown name or a bad value is one line on stderr; what was in force before stays.
// Threads: read_options is for the start of the process, before there is a second thread.
// Cost:    nothing is allocated.
#pragma once

#include <cairn/core/bits.hpp>

#include <type_traits>

namespace cairn {

/// What is asked of the kernel about huge pages.
enum class HugePages : unsigned char {
    off,    ///< nothing: the system's own setting decides
    growth, ///< some, one at a time, while a large process grows
    dense,  ///< wanted for blocks that have a mapping of their own as well
    always  ///< wanted everywhere
};

/// The default of each option is its value here.
struct Options {
    std::int64_t purge_delay_ms = 500; ///< 0: at once; -1: never
    bool background = true;            ///< a helper thread purges while the program is idle
    HugePages huge_pages = HugePages::growth;
    std::size_t retain_bytes = 1_MiB; ///< free memory that time does not purge
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
        "how long memory stays unused before it is given back to the system"),
    detail::option<&Options::background>(
        "background", OptionKind::boolean, 0, 1, nullptr,
        "give memory back from a thread of the allocator's own, also while the program is idle"),
    detail::option<&Options::huge_pages>(
        "huge_pages", OptionKind::choice, 0, 3, detail::huge_pages_choices,
        "ask for huge pages: not at all, where a process of more than 48 MiB grows, for blocks of more than "
        "16 MiB too, for all memory"),
    detail::option<&Options::retain_bytes>("retain", OptionKind::size, 0, detail::all_memory, nullptr,
                                           "unused memory that is kept however long it stays unused"),
    detail::option<&Options::deep_binding>(
        "deep_binding", OptionKind::boolean, 0, 1, nullptr,
        "load libraries with RTLD_DEEPBIND where a program says so; they call the C library's malloc then"),
};

/// Takes in "name:value,name:value".
void parse_options(const char *text, Options &into) noexcept;

/// What is in force in this process.
Options &options_in_force() noexcept;

/// Takes in CAIRN_OPTIONS, unless the program runs with raised privileges.
void read_options() noexcept;

} // namespace cairn
