// SPDX-License-Identifier: MIT
//
// The plan: the calls of a trace as `cairn replay` prepares them for the program that makes them again. And the
// outcome, which that program writes into memory that it shares with `cairn`, so that it is there however the program
// ends.
//
// The plan's file is a page with the header, then the steps, then for each thread how often its turn comes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn::replay {

inline constexpr std::uint64_t plan_mark = 0x314e414c'504e5243ULL; // "CRNPLAN1"
inline constexpr std::size_t header_bytes = 4096;

struct PlanHeader {
    std::uint64_t mark;
    std::uint64_t steps;        ///< calls and turns
    std::uint64_t calls;        ///< that are made
    std::uint64_t blocks;       ///< numbers of blocks are below it: so many live at one time
    std::uint64_t threads;      ///< the first makes its calls from the program's main thread
    std::uint64_t most_threads; ///< at one time
    std::uint64_t peak;         ///< the most live bytes, as requested
    std::uint64_t peak_call;    ///< the call that led to it, from 1
};
static_assert(sizeof(PlanHeader) <= header_bytes);

enum class Call : std::uint8_t {
    malloc,
    calloc,
    aligned,
    realloc,
    free,
    turn, ///< no call: the steps from here on are those of thread number `block`
};
inline constexpr std::size_t calls = 5; ///< kinds of them

/// One step. Block numbers are given again after a free.
struct Step {
    std::uint64_t what; ///< size; log2 of the alignment, 6 bits; Call, 4 bits
    std::uint32_t block;
    std::uint32_t unused;

    static constexpr unsigned size_bits = 39; ///< as in a trace

    static constexpr Step make(Call call, std::uint64_t block, std::uint64_t size = 0,
                               unsigned alignment_log2 = 0) {
        return {size | std::uint64_t{alignment_log2} << size_bits |
                    std::uint64_t{static_cast<std::uint8_t>(call)} << (size_bits + 6),
                static_cast<std::uint32_t>(block), 0};
    }
    constexpr Call call() const { return static_cast<Call>(what >> (size_bits + 6) & 15); }
    constexpr std::uint64_t size() const { return what & ((std::uint64_t{1} << size_bits) - 1); }
    constexpr unsigned alignment_log2() const { return what >> size_bits & 63; }
    constexpr bool operator==(const Step &) const = default;
};
static_assert(sizeof(Step) == 16);

/// How things are between two calls; all in bytes but for `call`.
struct Sample {
    std::uint64_t call;       ///< so many were made
    std::uint64_t live;       ///< as requested
    std::uint64_t usable;     ///< as malloc_usable_size says
    std::uint64_t resident;   ///< more than before the first call
    std::uint64_t lazy_free;  ///< of it, pages that the system may take
    std::uint64_t huge_pages; ///< of it
    std::uint64_t of_blocks;  ///< of it, pages in which a block lies or once lay
};

inline constexpr std::size_t most_samples = 256;
inline constexpr std::size_t usual_samples = 200;

enum class State : std::uint32_t {
    started, ///< and not come to an end: it was killed
    done,
    wrong,     ///< the allocator broke a promise
    can_not_go ///< nothing was replayed, and it is not the allocator's fault
};

struct Outcome {
    State state;
    std::uint32_t samples_taken;
    std::atomic<std::uint64_t> calls_made; ///< grows while the program works
    std::uint64_t kind;                    ///< Call of the call that is being made
    std::uint64_t size;                    ///< of it
    double seconds[calls];                 ///< in the calls of each kind, without the clock's own cost
    std::uint64_t counts[calls];
    std::uint64_t long_calls; ///< of a millisecond or more
    double seconds_in_long_calls;
    double seconds_with_use;      ///< in the calls and in writing to the blocks
    std::uint64_t peak;           ///< A: the most resident memory, more than before the first call
    std::uint64_t peak_of_blocks; ///< the most of Sample::of_blocks
    std::uint64_t faults;         ///< minor ones, of the recorded calls
    std::uint64_t switches;       ///< involuntary
    std::uint64_t turns;          ///< changes of thread
    std::uint32_t knows_usable;   ///< not 0: Sample::usable is meaningful
    std::uint32_t knows_blocks;   ///< not 0: Sample::of_blocks is meaningful
    Sample at_peak;               ///< when the most bytes were live
    Sample drained;               ///< everything was freed, a moment ago
    Sample settled;               ///< a second later
    Sample samples[most_samples];
    char message[256]; ///< one line, for wrong and can_not_go
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

} // namespace cairn::replay
