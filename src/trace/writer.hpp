// SPDX-License-Identifier: MIT
//
// The writer: puts records into slots, and slots into the file, without locks and without allocating.
//
// Threads: any. Each has a slot of its own.
// Errors:  when the file can not grow, or a slot not be had, tracing ends with one line, and the program goes on.
// Cost:    a record is the clock, some 20 instructions, and two or three stores; a system call every 4,000 to 8,000
//          records; 64 KiB a running thread.
#pragma once

#include "format.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/features.hpp>

namespace cairn::trace {

/// Opens what CAIRN_TRACE names, the shared memory and the file behind a colon, and joins them. Nothing is recorded before or without.
void begin() noexcept;

/// A fork's child is a process image of its own.
void begin_in_child() noexcept;

namespace detail {

/// Where a thread's next record goes.
struct Cursor {
    Word *next = nullptr; ///< holds 0
    Word *end = nullptr;
    std::uint64_t last = 0; ///< the clock of the record before
    Coder coder;
    bool inside = false;
};

extern thread_local constinit Cursor cursor __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern constinit std::atomic<bool> on __attribute__((visibility("hidden")));

/// Words that may come at once: a thread's name, a process's, the clock twice, a call, and a zero.
inline constexpr std::ptrdiff_t room = 5 * Coder::most_words + 1;

/// What does not fit into one word, or has no room.
void record_long(Op op, const void *address, std::size_t size, std::uint64_t ticks,
                 unsigned alignment_log2) noexcept;

/// Writes a first word, with a zero behind the record.
inline void put(Word word, std::size_t count) noexcept {
    Word *const to = cursor.next;
    cursor.next = to + count;
    to[count] = 0;
    // release: who reads the slot after a kill finds a whole record or none, and a zero behind it.
    std::atomic_ref(*to).store(word, std::memory_order_release);
}

} // namespace detail

/// Whether calls of this thread are to be recorded: tracing is on, and this is not a call that another one makes.
inline bool recording() noexcept {
    // relaxed: a flag, what it allows is looked at
    return !detail::cursor.inside && detail::on.load(std::memory_order_relaxed);
}

/// The calls that happen during its life are part of one that is recorded.
class Inside {
public:
    Inside() noexcept { detail::cursor.inside = true; }
    ~Inside() { detail::cursor.inside = false; }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;
};

[[gnu::always_inline]] inline void record(Op op, const void *address, std::size_t size, std::uint64_t ticks,
                                          std::size_t alignment = 1) noexcept {
    using detail::cursor;
    const unsigned alignment_log2 = alignment <= 1 ? 0 : static_cast<unsigned>(log2_floor(alignment));
    const Word word =
        cursor.coder.in_one({op, ticks - cursor.last, address_of(address), size, alignment_log2});
    if (CAIRN_UNLIKELY(word == 0 || cursor.end - cursor.next < detail::room)) {
        detail::record_long(op, address, size, ticks, alignment_log2);
        return;
    }
    cursor.last = ticks;
    detail::put(word, 1);
}

} // namespace cairn::trace
