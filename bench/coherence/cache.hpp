// SPDX-License-Identifier: MIT
//
// The model of the caches: P of them, without end, kept coherent by invalidation (MESI, with E and M as one state). For
// each line of memory it knows who has it, and counts what an access makes the caches send to each other.
//
// Threads: one at a time (the baton).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace cairn::coherence {

inline constexpr unsigned most_caches = 256;
inline constexpr std::uintptr_t line_bytes = 64;

/// What the caches send. Each is a wait of some hundred cycles in a real machine, but for `cold`.
struct Traffic {
    std::uint64_t reads = 0;  ///< a line fetched from another cache, to be read
    std::uint64_t writes = 0; ///< a line fetched from another cache, to be written
    std::uint64_t upgrades =
        0;                  ///< a line that was here to be read, and now takes it from others to be written
    std::uint64_t rmws = 0; ///< atomic read-modify-writes, wherever the line was
    std::uint64_t cold = 0; ///< the first access of all to a line

    std::uint64_t transfers() const { return reads + writes + upgrades; }

    Traffic &operator+=(const Traffic &o) {
        reads += o.reads;
        writes += o.writes;
        upgrades += o.upgrades;
        rmws += o.rmws;
        cold += o.cold;
        return *this;
    }
    Traffic operator-(const Traffic &o) const {
        return {reads - o.reads, writes - o.writes, upgrades - o.upgrades, rmws - o.rmws, cold - o.cold};
    }
};

class Caches {
public:
    /// Cache `who` touches [address, address + size). The traffic goes to `count`.
    void access(unsigned who, std::uintptr_t address, std::size_t size, bool write, Traffic &count) {
        const std::uintptr_t last = (address + (size == 0 ? 0 : size - 1)) / line_bytes;
        for (std::uintptr_t line = address / line_bytes; line <= last; ++line) {
            touch(lines_[line], who, write, count);
        }
    }

private:
    struct Line {
        std::bitset<most_caches> holders;
        bool known = false;
    };

    static void touch(Line &line, unsigned who, bool write, Traffic &count) {
        const bool here = line.holders[who];
        const bool elsewhere = line.holders.count() > (here ? 1 : 0);
        if (!line.known) {
            line.known = true;
            ++count.cold;
        } else if (!write && !here) {
            ++count.reads;
        } else if (write && elsewhere) {
            ++(here ? count.upgrades : count.writes);
        }
        if (write) {
            line.holders.reset();
        }
        line.holders.set(who);
    }

    std::unordered_map<std::uintptr_t, Line> lines_;
};

} // namespace cairn::coherence
