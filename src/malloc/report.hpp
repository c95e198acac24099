// SPDX-License-Identifier: MIT
//
// Report: the statistics of a heap as text for people, as JSON, and as the XML of malloc_info(3).
//
// Adds:    three forms of one record. The names in the JSON are those of Statistics, and stay.
// Threads: pure functions.
// Cost:    nothing is allocated; some kilobytes of stack.
#pragma once

#include <cairn/core/statistics.hpp>
#include <src/malloc/text_out.hpp>

namespace cairn::report {

/// Raised when a name in the JSON changes its meaning or goes; new names do not raise it.
inline constexpr unsigned json_schema = 1;

/// Whose statistics they are.
struct Subject {
    const char *program = "";
    std::uint64_t pid = 0;
    const char *allocator = "cairn";
};

void write_text(TextOut &out, const Statistics &statistics, const Subject &subject) noexcept;
void write_json(TextOut &out, const Statistics &statistics, const Subject &subject) noexcept;
void write_xml(TextOut &out, const Statistics &statistics) noexcept;

/// What mallinfo and malloc_info call the arena: memory of all blocks but the huge ones, used or free, as far
/// as the system has memory behind it.
struct Arena {
    std::uint64_t used = 0;        ///< held by the program
    std::uint64_t free = 0;        ///< not
    std::uint64_t free_blocks = 0; ///< count
    std::uint64_t size() const { return used + free; }
};
Arena arena_of(const Statistics &statistics) noexcept;

/// The process that this is, and whose malloc it has.
Subject this_process(const char *allocator) noexcept;

} // namespace cairn::report
