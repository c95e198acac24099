// SPDX-License-Identifier: MIT
//
// False sharing, counted (Hoard, Table 3): blocks handed out in a line that has a live block of another thread, which
// the program itself did not pass on. So an allocator answers for what it cuts from a line for two threads (active),
// and for what it lets a thread use again that was only passed to it to be freed (passive).
//
// Threads: one at a time (the baton).
#pragma once

#include "cache.hpp"

#include <algorithm>
#include <vector>

namespace cairn::coherence {

class Sharing {
public:
    void handed_out(unsigned thread, const void *p, std::size_t size) {
        ++blocks_;
        bool shared = false;
        each_line(p, size, [&](Line &line) {
            for (const Live &other : line) {
                shared |= other.thread != thread && !other.passed;
            }
            line.push_back({p, thread, false});
        });
        shared_ += shared ? 1 : 0;
    }
    void passed_on(const void *p, std::size_t size) {
        each_line(p, size, [p](Line &line) { find(line, p).passed = true; });
    }
    void freed(const void *p, std::size_t size) {
        each_line(p, size, [p](Line &line) {
            find(line, p) = line.back();
            line.pop_back();
        });
    }

    std::uint64_t blocks() const { return blocks_; }
    std::uint64_t shared() const { return shared_; }

private:
    struct Live {
        const void *block;
        unsigned thread; ///< whom it was handed out to
        bool passed;
    };
    using Line = std::vector<Live>;

    static Live &find(Line &line, const void *block) {
        return *std::find_if(line.begin(), line.end(),
                             [block](const Live &live) { return live.block == block; });
    }

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
