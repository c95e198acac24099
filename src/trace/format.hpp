// SPDX-License-Identifier: MIT
//
// The trace file: what libcairntrace.so writes and `cairn` reads; and the memory in which it is made.
//
// The file is a page with a header, then chunks. A chunk holds records of one thread, in the order of its calls, or of
// several one after the other; what was not written is zero. All processes that a traced one starts write to the same
// file.
//
// A thread fills a slot: a chunk's length of memory that `cairn trace` owns and all traced processes share. A full slot is
// written to the file as a chunk and begins anew; when a thread ends, another one goes on with its slot; and when the
// program has ended, however it did, `cairn trace` writes what is left in the slots.
//
// All numbers are little-endian, as the machines are that Cairn knows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn::trace {

inline constexpr std::uint64_t file_mark = 0x31454341'5254434eULL; // "NCTRACE1"
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::size_t header_bytes = 4096;
inline constexpr std::size_t chunk_bytes = 64 * 1024;

/// The clock of the records, at two moments: ticks become nanoseconds by the line through both.
struct Moment {
    std::uint64_t ticks;
    std::uint64_t nanoseconds; ///< CLOCK_MONOTONIC
};

struct Header {
    std::uint64_t mark;
    std::uint32_t version;
    std::uint32_t chunk; ///< chunk_bytes
    Moment started;
    Moment ended;
    std::uint64_t stopped; ///< not 0: tracing ended before the program did, for want of room
};
static_assert(sizeof(Header) <= header_bytes);

/// At the start of the shared memory, in the length of a chunk; the slots follow.
struct Shared {
    std::atomic<std::uint64_t> chunks; ///< of the file, taken so far
    std::atomic<std::uint64_t> slots;  ///< taken so far
    std::atomic<std::uint64_t>
        processes;                   ///< numbers given to process images: a fork or an exec makes a new one
    std::atomic<std::uint64_t> over; ///< not 0: nobody records any more
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// More threads than this at one time are not recorded.
inline constexpr std::uint64_t most_slots = 32768;

enum class Op : std::uint8_t {
    none, ///< the end of what was written
    thread, ///< size: the kernel's id of the thread whose records follow; address: the number of its process image
    process, ///< size: the pid of a process image; address: its number
    time,    ///< the clock, when it can not be told from the record before: `when` is all of it
    malloc,  ///< from here on a call: its block, and the size that was asked for
    calloc,
    aligned,      ///< any call with an alignment
    free,         ///< size: what free_sized or a sized delete said, 0: nothing
    realloc_from, ///< the block that goes; realloc_to, of the same call, is the thread's next record
    realloc_to,   ///< address 0 is a failure: the block stays
};
inline constexpr unsigned last_op = static_cast<unsigned>(Op::realloc_to);

/// One call, or a part of one. `where` is written last. The clock of an allocation is when it returned, of a free when it
/// began: sorted by it, no block overlaps another.
struct Record {
    std::uint64_t when; ///< ticks since the record before, 32 bits; the lower 32 bits of the size
    std::uint64_t
        where; ///< address, 48 bits; the size's upper 6 bits; log2 of the alignment, 6 bits; Op, 4 bits

    static constexpr std::uint64_t most_ticks = (std::uint64_t{1} << 32) - 1;
    static constexpr std::uint64_t most_size =
        (std::uint64_t{1} << 38) - 1; ///< larger ones are said to be so large

    static constexpr Record make(Op op, std::uint64_t ticks, std::uint64_t address, std::uint64_t size,
                                 unsigned alignment_log2 = 0) {
        size = size > most_size ? most_size : size;
        return {ticks << 32 | (size & 0xffffffff), address << 16 | size >> 32 << 10 |
                                                       std::uint64_t{alignment_log2} << 4 |
                                                       static_cast<std::uint64_t>(op)};
    }
    constexpr Op op() const { return static_cast<Op>(where & 15); }
    constexpr std::uint64_t ticks() const { return when >> 32; }
    constexpr std::uint64_t address() const { return where >> 16; }
    constexpr std::uint64_t size() const { return (when & 0xffffffff) | (where >> 10 & 63) << 32; }
    constexpr unsigned alignment_log2() const { return where >> 4 & 63; }
};
static_assert(sizeof(Record) == 16);

inline constexpr std::size_t chunk_records = chunk_bytes / sizeof(Record);

} // namespace cairn::trace
