// SPDX-License-Identifier: MIT
//
// The trace file: what libcairntrace.so writes and `cairn` reads; and the memory in which it is made.
//
// The file is a page with a header, then chunks. A chunk holds records of one thread, in the order of its calls, or of
// several one after the other, and then a word of zero; what comes after that means nothing. All processes that a traced
// one starts write to the same file.
//
// A thread fills a slot: a chunk's length of memory that `cairn trace` owns and all traced processes share. A full slot is
// written to the file as a chunk and begins anew; when a thread ends, another one goes on with its slot; and when the
// program has ended, however it did, `cairn trace` writes what is left in the slots. The last word of a slot says which
// chunk it is about to become, for the case that the thread is killed over it.
//
// All numbers are little-endian, as the machines are that Cairn knows.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cairn::trace {

inline constexpr std::uint64_t file_mark = 0x31454341'5254434eULL; // "NCTRACE1"
inline constexpr std::uint32_t format_version = 2;
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
    free,         ///< size: what free_sized or a sized delete said, 0: nothing
    realloc_from, ///< the block that goes; realloc_to, of the same call, is the thread's next record
    realloc_to,   ///< address 0 is a failure: the block stays
    aligned,      ///< any call with an alignment
};
inline constexpr unsigned last_op = static_cast<unsigned>(Op::aligned);

/// The file consists of words. The one with a record's Op is its first, and written last.
using Word = std::uint64_t;

inline constexpr std::size_t chunk_words = chunk_bytes / sizeof(Word);
inline constexpr std::size_t slot_chunk = chunk_words - 1; ///< of a slot: 0, or 1 + the chunk being written

/// One call, or a part of one. The clock of an allocation is when it returned, of a free when it began, but it may have
/// been read some hundred nanoseconds early: sorted by it and put right where that shows, no block overlaps another.
struct Record {
    Op op;
    std::uint64_t ticks; ///< since the record before; of Op::time: all of the clock
    std::uint64_t address;
    std::uint64_t size;
    unsigned alignment_log2 = 0;

    static constexpr std::uint64_t most_ticks = (std::uint64_t{1} << 32) - 1;
    static constexpr std::uint64_t most_size =
        (std::uint64_t{1} << 38) - 1; ///< larger ones are said to be so large
};

/// Turns a thread's records into words and back. Most calls fit into one word, with the address told from that of the last
/// record of two words.
///
///   two:  Op, 4 bits; log2 of the alignment, 6; the size's upper 6; address, 48 | the size's lower 32; ticks, 32
///   one:  Op, 4 bits; size, 12; ticks, 16; the address less the other one, by 8, signed, 32
class Coder {
public:
    static constexpr std::size_t most_words = 2;

    /// The word of a record that fits into one; else 0.
    constexpr Word in_one(const Record &record) const {
        const Word code = static_cast<Word>(record.op);
        // What is no multiple becomes large.
        const std::uint64_t steps = std::rotr(record.address - base_ + (half_reach << step_log2), step_log2);
        if (is_plain(code) && steps < 2 * half_reach && record.size <= most_size_in_one &&
            record.ticks <= most_ticks_in_one) {
            return (code + shorter) | record.size << 4 | record.ticks << 16 | (steps - half_reach) << 32;
        }
        return 0;
    }

    /// How many words it takes; the second one is meaningless if it takes one.
    constexpr std::size_t write(const Record &record, Word (&words)[most_words]) {
        words[0] = in_one(record);
        if (words[0] != 0) {
            return 1;
        }
        const Word code = static_cast<Word>(record.op);
        if (record.op == Op::time) {
            words[0] = code;
            words[1] = record.ticks;
            return 2;
        }
        const std::uint64_t size = record.size > Record::most_size ? Record::most_size : record.size;
        words[0] = code | Word{record.alignment_log2} << 4 | size >> 32 << 10 | record.address << 16;
        words[1] = (size & 0xffffffff) | record.ticks << 32;
        if (is_call(code)) {
            base_ = record.address >> step_log2 << step_log2;
        }
        return 2;
    }

    /// How many words were taken: 0 for what is no record, or not all of one.
    constexpr std::size_t read(const Word *at, const Word *end, Record &record) {
        const Word code = *at & 15;
        if (is_plain(code - shorter)) {
            const auto far = static_cast<std::int32_t>(*at >> 32);
            record = {static_cast<Op>(code - shorter), *at >> 16 & most_ticks_in_one,
                      base_ + (static_cast<std::uint64_t>(std::int64_t{far}) << step_log2),
                      *at >> 4 & most_size_in_one};
            return 1;
        }
        if (code == 0 || code > last_op || end - at < 2) {
            return 0;
        }
        if (code == static_cast<Word>(Op::time)) {
            record = {Op::time, at[1], 0, 0};
            return 2;
        }
        record = {static_cast<Op>(code), at[1] >> 32, *at >> 16,
                  (at[1] & 0xffffffff) | (*at >> 10 & 63) << 32, static_cast<unsigned>(*at >> 4 & 63)};
        if (is_call(code)) {
            base_ = record.address >> step_log2 << step_log2;
        }
        return 2;
    }

private:
    static constexpr Word shorter = 6; ///< added to an Op: in one word
    static constexpr std::uint64_t most_size_in_one = (1 << 12) - 1;
    static constexpr std::uint64_t most_ticks_in_one = (1 << 16) - 1;
    static constexpr int step_log2 = 3; ///< of what addresses are multiples of
    static constexpr std::uint64_t half_reach = std::uint64_t{1} << 31;
    static_assert(static_cast<Word>(Op::malloc) + shorter == last_op + 1 && last_op + shorter == 15);

    static constexpr Word calls = last_op - static_cast<Word>(Op::malloc);
    static constexpr bool is_call(Word code) { return code - static_cast<Word>(Op::malloc) <= calls; }
    static constexpr bool is_plain(Word code) { return is_call(code) && code != last_op; }

    std::uint64_t base_ = 0; ///< the other address
};

} // namespace cairn::trace
