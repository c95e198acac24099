// SPDX-License-Identifier: MIT
//
// False sharing, counted (Hoard, Table 3): blocks handed out in a line that has a live block of another thread, where
// the program itself never passed a block of the line from one thread to another.
//
// Threads: one at a time (the baton).
#pragma once

#include "cache.hpp"

namespace cairn::coherence {

class Sharing {
public:
    void handed_out(unsigned thread, const void *p, std::size_t size) {
        ++blocks_;
        bool shared = false;
        each_line(p, size, [&](Line &line) {
            shared |= line.blocks != 0 && line.thread != thread && !line.passed;
            line.passed = line.passed && line.blocks != 0;
            line.thread = thread;
            ++line.blocks;
        });
        shared_ += shared ? 1 : 0;
    }
    void passed_on(const void *p, std::size_t size) {
        each_line(p, size, [](Line &line) { line.passed = true; });
    }
    void freed(const void *p, std::size_t size) {
        each_line(p, size, [](Line &line) { --line.blocks; });
    }

    std::uint64_t blocks() const { return blocks_; }
    std::uint64_t shared() const { return shared_; }

private:
    struct Line {
        unsigned blocks = 0;
        unsigned thread = 0;
        bool passed = false;
    };

    template <class F>
    void each_line(const void *p, std::size_t size, F f) {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        for (std::uintptr_t line = at / line_bytes; line <= (at + size - 1) / line_bytes; ++line) {
            f(lines_[line]);
        }
    }

    std::unordered_map<std::uintptr_t, Line> lines_;
    std::uint64_t blocks_ = 0;
    std::uint64_t shared_ = 0;
};

} // namespace cairn::coherence
