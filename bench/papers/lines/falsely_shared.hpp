// SPDX-License-Identifier: MIT
//
// False sharing in a trace (Hoard, section 2.1 and Table 3): blocks that are handed out in a cache line with a live
// block of another thread. Blocks that the program passes on, which are those that another thread frees, are nobody's
// to share a line with; so it is known of a block what it is only when the trace has been read once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cairn::papers {

class FalselyShared {
public:
    /// The calls, in their order.
    void allocated(std::uint32_t thread, std::uint64_t address, std::uint64_t size) {
        live_[address] = blocks_.size();
        steps_.push_back({blocks_.size(), true});
        blocks_.push_back({address, size, thread, false});
        requested_ += size;
    }
    void freed(std::uint32_t thread, std::uint64_t address) {
        const auto found = live_.find(address);
        if (found != live_.end()) {
            blocks_[found->second].passed_on = blocks_[found->second].thread != thread;
            steps_.push_back({found->second, false});
            live_.erase(found);
        }
    }

    std::uint64_t objects() const { return blocks_.size(); }
    std::uint64_t requested() const { return requested_; }

    std::uint64_t count() const {
        // By line: whose live blocks are in it.
        std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> lines;
        std::uint64_t shared = 0;
        for (const Step &step : steps_) {
            const Block &block = blocks_[step.block];
            // Only the ends of a long block can share a line.
            const std::uint64_t ends[] = {block.address / line_bytes,
                                          (block.address + std::max<std::uint64_t>(block.size, 1) - 1) /
                                              line_bytes};
            const unsigned different = ends[0] == ends[1] ? 1 : 2;
            bool others = false;
            for (unsigned i = 0; i < different; ++i) {
                std::vector<std::uint32_t> &owners = lines[ends[i]];
                if (!step.allocation) {
                    if (!block.passed_on) {
                        owners.erase(std::find(owners.begin(), owners.end(), block.thread));
                    }
                    continue;
                }
                others |= std::any_of(owners.begin(), owners.end(),
                                      [&](std::uint32_t t) { return t != block.thread; });
                if (!block.passed_on) {
                    owners.push_back(block.thread);
                }
            }
            shared += others ? 1 : 0;
        }
        return shared;
    }

private:
    static constexpr std::uint64_t line_bytes = 64;

    struct Block {
        std::uint64_t address;
        std::uint64_t size;
        std::uint32_t thread;
        bool passed_on;
    };
    struct Step {
        std::uint64_t block;
        bool allocation;
    };

    std::unordered_map<std::uint64_t, std::uint64_t> live_;
    std::vector<Block> blocks_;
    std::vector<Step> steps_;
    std::uint64_t requested_ = 0;
};

} // namespace cairn::papers
