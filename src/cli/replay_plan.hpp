// SPDX-License-Identifier: MIT
//
// Replay plan: the calls of a trace, with numbers of blocks instead of addresses, and one call for the two records of a
// realloc. Calls that cannot be repeated are left out and counted.
#pragma once

#include <src/cli/trace_file.hpp>
#include <src/replay/plan.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::cli {

struct PlanSummary {
    replay::PlanHeader header{};
    std::uint64_t counts[replay::calls] = {};
    std::uint64_t unknown = 0;     ///< frees of blocks from before the trace; left out
    std::uint64_t failed = 0;      ///< calls of realloc that failed; left out
    std::uint64_t from_before = 0; ///< calls of realloc for a block from before the trace; repeated as malloc
    std::uint64_t overlapping = 0; ///< blocks that must have been freed by a call not in the trace; freed
    std::uint64_t live = 0;        ///< bytes of blocks that are live at the end
    std::uint64_t live_blocks = 0;
};

class PlanMaker {
public:
    using Sink = std::function<void(const replay::Step &)>;
    explicit PlanMaker(Sink sink) : sink_(std::move(sink)) {}

    /// The calls of one process image, in order.
    void take(const TraceEvent &event);
    PlanSummary finish();

    /// The number of turns of each thread; after finish().
    std::vector<std::uint64_t> turns() const;

private:
    struct Block {
        std::uint32_t number;
        std::uint64_t size;
    };
    struct Thread {
        std::uint64_t turns = 0;
        std::uint64_t first = 0; ///< first turn
        std::uint64_t last = 0;  ///< last turn
        bool moving = false;     ///< between the two records of a realloc
        bool known = false;      ///< the block of that realloc is known
        std::uint64_t from = 0;  ///< the address of that block
        Block block{};
    };

    void emit(std::uint32_t thread, const replay::Step &step);
    void begin(std::uint32_t thread, replay::Call call, std::uint64_t address, std::uint64_t size,
               unsigned alignment_log2);
    void place(std::uint32_t thread, std::uint64_t address, Block block);
    void release(std::uint32_t thread, Block block);
    void grow(std::uint64_t more);

    Sink sink_;
    PlanSummary sum_;
    std::unordered_map<std::uint64_t, Block> blocks_; ///< by address
    std::vector<std::uint32_t> unused_;               ///< numbers of no block
    std::vector<Thread> threads_;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers_; ///< thread in the plan by thread in the trace
    std::uint32_t current_ = UINT32_MAX;
    std::uint64_t turn_ = 0;
};

/// Writes the plan of a process image. Throws BadTrace, also when that image made no calls.
PlanSummary write_plan(const TraceFile &trace, std::uint64_t image, const std::string &path);

} // namespace cairn::cli
