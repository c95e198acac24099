// SPDX-License-Identifier: MIT
// How much is live, where that depends on which thread runs when: counted by the workload itself, many blocks at a
// time.
#pragma once

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace cairn::bench {

class Gauge {
public:
    Gauge() = default;
    ~Gauge() { std::fprintf(stderr, "figures: {\"live_bytes\": %" PRIu64 "}\n", most_.load(relaxed)); }
    Gauge(const Gauge &) = delete;
    Gauge &operator=(const Gauge &) = delete;

    void add(std::uint64_t bytes) {
        const std::uint64_t now = now_.fetch_add(bytes, relaxed) + bytes;
        std::uint64_t before = most_.load(relaxed);
        while (before < now && !most_.compare_exchange_weak(before, now, relaxed)) {
        }
    }
    void take(std::uint64_t bytes) { now_.fetch_sub(bytes, relaxed); }

private:
    // Nothing but a figure depends on it.
    static constexpr std::memory_order relaxed = std::memory_order_relaxed;

    std::atomic<std::uint64_t> now_{0}, most_{0};
};

} // namespace cairn::bench
