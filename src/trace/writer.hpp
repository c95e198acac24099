// SPDX-License-Identifier: MIT
//
// The writer: puts records into slots, and slots into the file, without locks and without allocating.
//
// Threads: any. Each has a slot of its own.
// Errors:  when the file can not grow, or a slot not be had, tracing ends, `cairn trace` says so, and the program goes
//          on; in a process that has closed the files, for it alone.
// Cost:    a record is the clock, some 20 instructions, and two or three stores; a system call every 4,000 to 13,000
//          records; 64 KiB a running thread.
#pragma once

#include "format.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/features.hpp>

#include <atomic>
#include <cstring>

namespace cairn::trace {

/// Opens what CAIRN_TRACE names, the shared memory and the file behind a colon, and joins them; once, and not before
/// there is an environment. Nothing is recorded before or without. The first call that is to be recorded does it too:
/// constructors of other libraries may run before this library's (glibc lets only one library go first, and that is the
/// allocator). The caller is Inside.
void begin() noexcept;

/// A fork's child is a process image of its own.
void begin_in_child() noexcept;

namespace detail {

/// Where a thread's next record goes.
struct Cursor {
    Byte *next = nullptr;   ///< holds 0
    Byte *limit = nullptr;  ///< where there is no room any more
    std::uint64_t last = 0; ///< the clock of the record before
    Coder coder;
    bool inside = false;
    bool ends = false;    ///< the thread has given its slot back
    Word *slot = nullptr; ///< nullptr: there is none, and no room
};

extern thread_local constinit Cursor cursor __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// What may come at once: a thread's name, a process's, the clock twice, a call, and zeros.
inline constexpr std::size_t room = 5 * Coder::most_bytes + sizeof(Word);

/// What does not fit into one word, or has no room, or comes before tracing has begun.
void record_long(Op op, const void *address, std::size_t size, std::uint64_t ticks,
                 unsigned alignment_log2) noexcept;

/// Writes a record's first word. Who reads the slot after a kill finds a whole record or none, and a zero behind it.
inline void put(Word word, std::size_t bytes) noexcept {
    Byte *const to = cursor.next;
    cursor.next = to + bytes;
    if (bytes >= sizeof word) {
        to[bytes] = 0;
    }
    // release: in this order, as a killed thread's stores are seen by who has waited for its end.
    std::atomic_signal_fence(std::memory_order_release);
    std::memcpy(to, &word, sizeof word);
}

} // namespace detail

/// Whether a call of this thread is one of the program's, and not one that another call makes.
inline bool recording() noexcept {
    return !detail::cursor.inside;
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
    if (CAIRN_LIKELY(cursor.next < cursor.limit)) {
        const Coder::InOne one =
            cursor.coder.in_one({op, ticks - cursor.last, address_of(address), size, alignment_log2});
        if (CAIRN_LIKELY(one.bytes != 0)) {
            cursor.last = ticks;
            detail::put(one.word, one.bytes);
            return;
        }
    }
    detail::record_long(op, address, size, ticks, alignment_log2);
}

} // namespace cairn::trace
