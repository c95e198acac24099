// SPDX-License-Identifier: MIT
// The resident memory of a process and its children over time, in a fixed number of points: when they are used up,
// every second one goes and the time between two doubles. Looking costs the process time, which grows with its memory;
// so no more than a tenth of the time is spent on it.
#pragma once

#include "../common/resident.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn::bench {

class Curve {
public:
    // No points are taken at 0.
    explicit Curve(int milliseconds) : between_(milliseconds * 1e-3) {}

    bool wanted() const { return between_ > 0; }
    // The time at which the next point is due.
    double due() const { return due_; }
    // At process `pid` and its children, at the time `now`, both in seconds; `clock` tells the time afterwards.
    void look(int pid, double now, double (*clock)());
    // As fields of JSON, times from `start` on; nothing if there are no points.
    void print(double start) const;

private:
    struct Point {
        double time;
        Resident resident;
    };

    void thin_out();

    double between_;
    double due_ = 0;
    std::array<Point, 512> points_{};
    std::size_t count_ = 0;
    std::uint64_t looks_ = 0;
    std::uint64_t peak_ = 0; // without what was given back lazily
};

} // namespace cairn::bench
