// SPDX-License-Identifier: MIT
#include "curve.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace cairn::bench {

namespace {

// Of a process and those that its main thread has started, and so on.
bool add_up(int pid, Resident &sum, int depth = 0) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    Resident own;
    const bool there = read_resident(path, own);
    sum = {sum.rss + own.rss, sum.lazy_free + own.lazy_free, sum.huge + own.huge};
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    std::FILE *children = depth < 8 ? std::fopen(path, "re") : nullptr;
    if (children != nullptr) {
        for (int child = 0; std::fscanf(children, "%d", &child) == 1;)
            add_up(child, sum, depth + 1);
        std::fclose(children);
    }
    return there;
}

} // namespace

void Curve::look(int pid, double now, double (*clock)()) {
    Point point{now, {}};
    const bool there = add_up(pid, point.resident);
    const double spent = clock() - now;
    due_ = now + std::max(between_, 10 * spent);
    if (!there)
        return;
    ++looks_;
    peak_ = std::max(peak_, point.resident.rss - point.resident.lazy_free);
    if (count_ == points_.size())
        thin_out();
    points_[count_++] = point;
}

void Curve::thin_out() {
    for (std::size_t i = 0; i < count_ / 2; ++i)
        points_[i] = points_[2 * i];
    count_ /= 2;
    between_ *= 2;
}

void Curve::print(double start) const {
    if (count_ == 0)
        return;
    const Resident &last = points_[count_ - 1].resident;
    std::printf("\"samples\": %" PRIu64 ", \"sampled_peak_kib\": %" PRIu64 ", \"last_rss_kib\": %" PRIu64
                ", \"last_lazy_free_kib\": %" PRIu64 ", \"last_huge_kib\": %" PRIu64 ", \"curve\": [",
                looks_, peak_, last.rss, last.lazy_free, last.huge);
    for (std::size_t i = 0; i < count_; ++i) {
        const Point &point = points_[i];
        std::printf("%s[%.4f, %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i == 0 ? "" : ", ", point.time - start,
                    point.resident.rss, point.resident.lazy_free, point.resident.huge);
    }
    std::printf("], ");
}

} // namespace cairn::bench
