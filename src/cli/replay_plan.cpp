// SPDX-License-Identifier: MIT
#include <src/cli/replay_plan.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace cairn::cli {

using replay::Call;
using replay::Step;
using trace::Op;

static_assert((std::uint64_t{1} << Step::size_bits) - 1 == trace::Record::most_size);

void PlanMaker::emit(std::uint32_t thread, const Step &step) {
    if (thread != current_) {
        current_ = thread;
        Thread &t = threads_[thread];
        ++turn_;
        t.first = t.turns == 0 ? turn_ : t.first;
        t.last = turn_;
        ++t.turns;
        sink_(Step::make(Call::turn, thread));
        ++sum_.header.steps;
    }
    ++sum_.header.steps;
    ++sum_.header.calls;
    ++sum_.counts[static_cast<unsigned>(step.call())];
    sink_(step);
}

void PlanMaker::grow(std::uint64_t more) {
    sum_.live += more;
    if (sum_.live > sum_.header.peak) {
        sum_.header.peak = sum_.live;
        sum_.header.peak_call = sum_.header.calls;
    }
}

void PlanMaker::release(std::uint32_t thread, Block block) {
    emit(thread, Step::make(Call::free, block.number));
    sum_.live -= block.size;
    unused_.push_back(block.number);
}

void PlanMaker::place(std::uint32_t thread, std::uint64_t address, Block block) {
    if (const auto found = blocks_.find(address); found != blocks_.end()) {
        ++sum_.overlapping;
        const Block lost = found->second;
        found->second = block;
        release(thread, lost);
    } else {
        blocks_.emplace(address, block);
    }
}

void PlanMaker::begin(std::uint32_t thread, Call call, std::uint64_t address, std::uint64_t size,
                      unsigned alignment_log2) {
    Block block{static_cast<std::uint32_t>(sum_.header.blocks), size};
    if (unused_.empty()) {
        ++sum_.header.blocks;
    } else {
        block.number = unused_.back();
        unused_.pop_back();
    }
    place(thread, address, block);
    emit(thread, Step::make(call, block.number, size, alignment_log2));
    grow(size);
}

void PlanMaker::take(const TraceEvent &event) {
    const auto [found, fresh] =
        numbers_.try_emplace(event.thread, static_cast<std::uint32_t>(threads_.size()));
    if (fresh) {
        threads_.emplace_back();
    }
    const std::uint32_t number = found->second;
    Thread &thread = threads_[number];
    switch (event.op) {
    case Op::malloc:
        return begin(number, Call::malloc, event.address, event.size, 0);
    case Op::calloc:
        return begin(number, Call::calloc, event.address, event.size, 0);
    case Op::aligned:
        return begin(number, Call::aligned, event.address, event.size, event.alignment_log2);
    case Op::free:
    case Op::realloc_from: {
        const auto block = blocks_.find(event.address);
        const bool known = block != blocks_.end();
        if (event.op == Op::realloc_from) {
            // Another thread may get the old address before the realloc returns.
            thread.moving = true;
            thread.known = known;
            thread.from = event.address;
        }
        if (!known) {
            sum_.unknown += event.op == Op::free ? 1 : 0;
            return;
        }
        const Block gone = block->second;
        blocks_.erase(block);
        if (event.op == Op::free) {
            return release(number, gone);
        }
        thread.block = gone;
        return;
    }
    case Op::realloc_to: {
        const bool known = thread.moving && thread.known;
        thread.moving = thread.known = false;
        if (event.address == 0) {
            ++sum_.failed;
            if (known) {
                blocks_[thread.from] = thread.block;
            }
            return;
        }
        if (!known) {
            ++sum_.from_before;
            return begin(number, Call::malloc, event.address, event.size, 0);
        }
        const Block moved{thread.block.number, event.size};
        place(number, event.address, moved);
        emit(number, Step::make(Call::realloc, moved.number, moved.size));
        sum_.live -= thread.block.size;
        return grow(moved.size);
    }
    default:
        return;
    }
}

PlanSummary PlanMaker::finish() {
    sum_.live_blocks = blocks_.size();
    for (const Thread &thread : threads_) {
        sum_.live_blocks += thread.moving && thread.known ? 1 : 0;
    }
    // A thread of the plan lives from its first turn to its last.
    std::vector<std::pair<std::uint64_t, int>> changes;
    for (const Thread &thread : threads_) {
        if (thread.turns != 0) {
            changes.emplace_back(thread.first, 1);
            changes.emplace_back(thread.last + 1, -1);
        }
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t now = 0;
    for (const auto &change : changes) {
        now += change.second;
        sum_.header.most_threads = std::max(sum_.header.most_threads, static_cast<std::uint64_t>(now));
    }
    sum_.header.threads = threads_.size();
    sum_.header.mark = replay::plan_mark;
    return sum_;
}

std::vector<std::uint64_t> PlanMaker::turns() const {
    std::vector<std::uint64_t> all;
    all.reserve(threads_.size());
    for (const Thread &thread : threads_) {
        all.push_back(thread.turns);
    }
    return all;
}

PlanSummary write_plan(const TraceFile &trace, std::uint64_t image, const std::string &path) {
    std::ofstream file(path, std::ios::binary);
    const auto write = [&](const void *bytes, std::size_t length) {
        file.write(static_cast<const char *>(bytes), static_cast<std::streamsize>(length));
    };
    char page[replay::header_bytes] = {};
    write(page, sizeof page);
    std::vector<Step> steps;
    const auto flush = [&] {
        write(steps.data(), steps.size() * sizeof(Step));
        steps.clear();
    };
    PlanMaker maker([&](const Step &step) {
        steps.push_back(step);
        if (steps.size() == 65536) {
            flush();
        }
    });
    trace.for_each(image, [&](const TraceEvent &event) { maker.take(event); });
    flush();
    const PlanSummary sum = maker.finish();
    const auto turns = maker.turns();
    write(turns.data(), turns.size() * sizeof turns[0]);
    file.seekp(0);
    write(&sum.header, sizeof sum.header);
    file.flush();
    if (!file) {
        throw BadTrace(std::string("a temporary file for the plan: ") + std::strerror(errno));
    }
    if (sum.header.calls == 0) {
        throw BadTrace("process " + std::to_string(image) + " made no calls");
    }
    return sum;
}

} // namespace cairn::cli
