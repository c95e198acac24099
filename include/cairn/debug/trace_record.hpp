// SPDX-License-Identifier: MIT
//
// Trace record: one operation on a heap, and the line of text that it is written as and read from.
//
// Adds:    to_text and from_text, each other's opposite: number, thread, operation, block, size, alignment.
// Keeps:   a line has at most longest_trace_line characters.
// Threads: pure functions.
// Cost:    some hundred instructions a line; allocates nothing.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace cairn {

/// A block that changes its size is written down twice, since while that is going on another thread may get its place:
/// resize, with the block, before; resized, with what came of it, after. If that is none, the block is as it was.
enum class Operation : std::uint8_t { malloc, memalign, malloc_zeroed, free, resize, resized, clear };

struct TraceRecord {
    std::uint64_t number = 0; ///< counted from 1, in the order in which operations happened to each block
    std::uint64_t thread = 0;
    Operation operation = Operation::malloc;
    std::uint64_t block = 0; ///< its address; 0: there was no memory
    std::uint64_t size = 0;
    std::uint64_t alignment = 0; ///< of memalign

    bool operator==(const TraceRecord &) const = default;
};

inline constexpr std::size_t longest_trace_line = 128;

namespace debug {
inline constexpr const char *operation_names[] = {"malloc", "memalign", "malloc_zeroed", "free",
                                                  "resize", "resized",  "clear"};

inline char *put_number(char *at, std::uint64_t n, int base, char after) {
    at = std::to_chars(at, at + 20, n, base).ptr;
    *at++ = after;
    return at;
}

/// One number and the character behind it; nullptr if there is none.
inline const char *get_number(const char *at, const char *end, std::uint64_t &n, int base, char after) {
    if (at == nullptr) {
        return nullptr;
    }
    const auto [stop, error] = std::from_chars(at, end, n, base);
    return error == std::errc() && stop != end && *stop == after ? stop + 1 : nullptr;
}
} // namespace debug

/// Writes the line, with its newline and without an end mark, and says how long it is.
inline std::size_t to_text(const TraceRecord &record, char (&line)[longest_trace_line]) {
    char *at = debug::put_number(line, record.number, 10, ' ');
    at = debug::put_number(at, record.thread, 16, ' ');
    const char *const name = debug::operation_names[static_cast<std::size_t>(record.operation)];
    at = std::copy_n(name, std::strlen(name), at);
    *at++ = ' ';
    at = debug::put_number(at, record.block, 16, ' ');
    at = debug::put_number(at, record.size, 10, ' ');
    return static_cast<std::size_t>(debug::put_number(at, record.alignment, 10, '\n') - line);
}

/// Reads the line at `at` and moves on to the next. False: there is none, and `at` stays.
inline bool from_text(const char *&at, const char *end, TraceRecord &record) {
    const char *next = debug::get_number(at, end, record.number, 10, ' ');
    next = debug::get_number(next, end, record.thread, 16, ' ');
    const char *const name = next;
    while (next != nullptr && next != end && *next != ' ') {
        ++next;
    }
    if (next == nullptr || next == end) {
        return false;
    }
    const auto length = static_cast<std::size_t>(next - name);
    std::size_t which = 0;
    while (which < std::size(debug::operation_names) &&
           (std::strlen(debug::operation_names[which]) != length ||
            std::memcmp(debug::operation_names[which], name, length) != 0)) {
        ++which;
    }
    if (which == std::size(debug::operation_names)) {
        return false;
    }
    record.operation = static_cast<Operation>(which);
    next = debug::get_number(next + 1, end, record.block, 16, ' ');
    next = debug::get_number(next, end, record.size, 10, ' ');
    next = debug::get_number(next, end, record.alignment, 10, '\n');
    at = next == nullptr ? at : next;
    return next != nullptr;
}

} // namespace cairn
