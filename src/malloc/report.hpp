// SPDX-License-Identifier: MIT
//
// Report: the statistics of a process as text, as JSON, and as the XML of malloc_info(3).
//
// Adds:    three forms of one record. The names in the JSON are those of Statistics, and do not change.
// Threads: pure functions.
// Cost:    nothing is allocated; some kilobytes of stack.
#pragma once

#include <cairn/core/statistics.hpp>
#include <src/malloc/text_out.hpp>

namespace cairn::report {

/// Raised when a name in the JSON changes its meaning or is removed, not when a name is added.
inline constexpr unsigned json_schema = 1;

/// The process and the allocator of the statistics.
struct Subject {
    const char *program = "";
    std::uint64_t pid = 0;
    const char *allocator = "cairn";
};

void write_text(TextOut &out, const Statistics &statistics, const Subject &subject) noexcept;
void write_json(TextOut &out, const Statistics &statistics, const Subject &subject) noexcept;
void write_xml(TextOut &out, const Statistics &statistics) noexcept;

/// What mallinfo and malloc_info call the arena: the memory of all blocks except huge ones, used or free, that may be
/// resident.
struct Arena {
    std::uint64_t used = 0;        ///< bytes of live blocks
    std::uint64_t free = 0;        ///< bytes of free memory
    std::uint64_t free_blocks = 0; ///< count
    std::uint64_t size() const { return used + free; }
};
Arena arena_of(const Statistics &statistics) noexcept;

/// The calling process, and the name of its allocator.
Subject this_process(const char *allocator) noexcept;

} // namespace cairn::report
