// SPDX-License-Identifier: MIT
//
// The trace file: what libcairntrace.so writes and `cairn` reads; and the memory in which it is made.
//
// The file is a page with a header, then chunks. A chunk holds records of one thread, in the order of its calls, or of
// several one after the other, and then a byte of zero; what comes after that means nothing. All processes that a
// traced one starts write to the same file.
//
// A thread fills a slot: a chunk's length of memory that `cairn trace` owns and all traced processes share. A full slot
// is written to the file as a chunk and begins anew; when a thread ends, another one goes on with its slot; and when
// the program has ended, however it did, `cairn trace` writes what is left in the slots, that of many into one chunk.
// The last word of a slot says which chunk it is about to become, for the case that the thread is killed over it.
//
// All numbers are little-endian, as the machines are that Cairn knows.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace cairn::trace {

inline constexpr std::uint64_t file_mark = 0x31454341'5254434eULL;   // "NCTRACE1"
inline constexpr std::uint64_t memory_mark = 0x324d4341'5254434eULL; ///< of Shared
inline constexpr std::uint32_t format_version = 3;
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
    std::uint64_t stopped; ///< not 0: calls are missing at the end, of the program or of a process of it
};
static_assert(sizeof(Header) <= header_bytes);

/// At the start of the shared memory, in the length of a chunk; the slots follow.
struct Shared {
    std::uint64_t mark;                ///< memory_mark
    std::atomic<std::uint64_t> chunks; ///< of the file, taken so far
    std::atomic<std::uint64_t> slots;  ///< taken so far
    std::atomic<std::uint64_t>
        processes;                   ///< numbers given to process images: a fork or an exec makes a new one
    std::uint64_t room;              ///< how many slots there are
    std::atomic<std::uint64_t> over; ///< not 0: nobody records any more, for one of the reasons below
    std::atomic<std::uint64_t>
        left; ///< pid of a process that has closed its files of the trace, 0: there is none
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// `cairn trace` says them: where a program has closed all its files, 2 may be any of its own.
inline constexpr std::uint64_t over_with_the_program = 1;
inline constexpr std::uint64_t over_without_room = 2;   ///< the file can not grow
inline constexpr std::uint64_t over_without_memory = 3; ///< for another thread's calls

/// Each process image takes a slot for each of its threads at one time. What comes when all are taken is not recorded.
inline constexpr std::uint64_t most_slots = std::uint64_t{1} << 20;

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

using Word = std::uint64_t;

/// What records are written to and read from: they have 5, 6, 8 or 16 bytes, one after the other.
using Byte = unsigned char;

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

    static constexpr std::uint64_t most_ticks = (std::uint64_t{1} << 28) - 1;
    static constexpr std::uint64_t most_size =
        (std::uint64_t{1} << 39) - 1; ///< larger ones are said to be so large
};

/// Turns a thread's records into bytes and back. Most addresses are told from that of the last record of 8 or 16 bytes,
/// the base, in steps of 8 bytes, signed. From the lowest bit on:
///
///    5 bytes, a free:    1 in 3 bits; ticks, 13; steps, 24
///    6 bytes, a malloc:  2 in 3 bits; size, 10; ticks, 13; steps, 22
///    8 bytes:            which call, 4; size, 12; ticks, 16; steps, 32
///   16 bytes:            0 in 3 bits; Op, 4; log2 of the alignment, 6; the size's upper 3; address, 48 |
///                        the size's lower 36; ticks, 28
///
/// The first byte of a record is not 0, and what has less than 8 bytes is written with zeros up to there.
class Coder {
public:
    static constexpr std::size_t most_words = 2;
    static constexpr std::size_t most_bytes = most_words * sizeof(Word);

    struct InOne {
        Word word;
        std::size_t bytes; ///< 0: it takes two words
    };

    /// A record in one word.
    constexpr InOne in_one(const Record &record) {
        // What is no multiple becomes large.
        const std::uint64_t steps = std::rotr(record.address - base_ + (reach(32) << step_log2), step_log2);
        const auto near = [&](int bits) { return steps - reach(32) + reach(bits) < 2 * reach(bits); };
        if (record.op == Op::free && record.size == 0 && record.ticks <= most(13) && near(24)) {
            return {short_free | record.ticks << 3 | (steps & most(24)) << 16, 5};
        }
        if (record.op == Op::malloc && record.size <= most(10) && record.ticks <= most(13) && near(22)) {
            return {short_malloc | record.size << 3 | record.ticks << 13 | (steps & most(22)) << 26, 6};
        }
        const Word code = code_of(record.op);
        if (code != 0 && record.size <= most(12) && record.ticks <= most(16) && near(32)) {
            base_ = record.address;
            return {code | record.size << 4 | record.ticks << 16 | (steps - reach(32)) << 32, 8};
        }
        return {0, 0};
    }

    /// How many bytes it takes, and all words that they are in.
    constexpr std::size_t write(const Record &record, Word (&words)[most_words]) {
        const InOne one = in_one(record);
        words[0] = one.word;
        words[1] = 0;
        if (one.bytes != 0) {
            return one.bytes;
        }
        const Word op = static_cast<Word>(record.op) << 3;
        if (record.op == Op::time) {
            words[0] = op;
            words[1] = record.ticks;
            return most_bytes;
        }
        const std::uint64_t size = record.size > Record::most_size ? Record::most_size : record.size;
        words[0] = op | Word{record.alignment_log2} << 7 | size >> 36 << 13 | record.address << 16;
        words[1] = (size & most(36)) | record.ticks << 36;
        if (record.op >= Op::malloc) {
            base_ = record.address >> step_log2 << step_log2;
        }
        return most_bytes;
    }

    static bool at_end(const Byte *at) { return (*at & 127) == 0; }

    /// How many bytes were taken: 0 for what is no record, or not all of one.
    std::size_t read(const Byte *at, const Byte *end, Record &record) {
        const Word word = load(at, end);
        const std::size_t bytes = read_word(word, record);
        if (bytes == most_bytes && bytes <= static_cast<std::size_t>(end - at)) {
            const Word second = load(at + sizeof word, end);
            if (record.op == Op::time) {
                record = {Op::time, second, 0, 0};
                return bytes;
            }
            record.size = (word >> 13 & 7) << 36 | (second & most(36));
            record.ticks = second >> 36;
            record.alignment_log2 = static_cast<unsigned>(word >> 7 & 63);
        }
        if (bytes > static_cast<std::size_t>(end - at)) {
            return 0;
        }
        if (bytes >= sizeof word && record.op >= Op::malloc) {
            base_ = record.address >> step_log2 << step_log2;
        }
        return bytes;
    }

private:
    static constexpr int step_log2 = 3; ///< of what addresses are multiples of
    static constexpr Word short_free = 1;
    static constexpr Word short_malloc = 2;
    static constexpr std::uint64_t most(int bits) { return (std::uint64_t{1} << bits) - 1; }
    static constexpr std::uint64_t reach(int bits) { return std::uint64_t{1} << (bits - 1); }

    /// Of a record of 8 bytes; 0: there is none.
    static constexpr Word code_of(Op op) {
        switch (op) {
        case Op::malloc:
            return 3;
        case Op::calloc:
            return 4;
        case Op::free:
            return 5;
        case Op::realloc_from:
            return 6;
        case Op::realloc_to:
            return 6 + 8;
        default:
            return 0;
        }
    }

    static Word load(const Byte *at, const Byte *end) {
        Word word = 0;
        const auto left = static_cast<std::size_t>(end - at);
        std::memcpy(&word, at, left < sizeof word ? left : sizeof word);
        return word;
    }

    /// What the first word says, and how many bytes there are.
    std::size_t read_word(Word word, Record &record) const {
        const auto from_base = [&](int bits, int shift) {
            const auto steps = static_cast<std::int64_t>(word << (64 - bits - shift)) >> (64 - bits);
            return base_ + (static_cast<std::uint64_t>(steps) << step_log2);
        };
        switch (word & 7) {
        case 0: {
            const Word op = word >> 3 & 15;
            record = {static_cast<Op>(op), 0, word >> 16, 0};
            return op != 0 && op <= last_op ? most_bytes : 0;
        }
        case short_free:
            record = {Op::free, word >> 3 & most(13), from_base(24, 16), 0};
            return 5;
        case short_malloc:
            record = {Op::malloc, word >> 13 & most(13), from_base(22, 26), word >> 3 & most(10)};
            return 6;
        default:
            record = {Op::none, word >> 16 & most(16), from_base(32, 32), word >> 4 & most(12)};
        }
        for (const Op op : {Op::malloc, Op::calloc, Op::free, Op::realloc_from, Op::realloc_to}) {
            if (code_of(op) == (word & 15)) {
                record.op = op;
                return sizeof word;
            }
        }
        return 0;
    }

    std::uint64_t base_ = 0;
};

} // namespace cairn::trace
