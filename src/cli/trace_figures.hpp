// SPDX-License-Identifier: MIT
//
// Trace figures: statistics of one process image of a trace, computed in one pass: time series in a fixed number of
// intervals, histograms, sums. The memory used grows with the number of live blocks and of threads, not with that of
// calls.
#pragma once

#include <src/cli/trace_file.hpp>

#include <allocators/cairn.hpp>

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <bit>
#include <unordered_map>

namespace cairn::cli {

class TraceFigures {
public:
    /// Takes only calls of that process image.
    TraceFigures(const TraceFile &trace, std::uint64_t image);

    /// Takes the next call.
    void take(const TraceEvent &event);

    nlohmann::ordered_json describe() const;

private:
    using Classes = FlagshipClasses;
    static constexpr std::size_t logs = std::size_t{std::bit_width(trace::Record::most_size)} + 1; // from 0
    static constexpr std::size_t groups = Classes::count + logs;

    struct Block {
        std::uint64_t size;
        std::uint64_t born;   // nanoseconds
        std::uint64_t before; // bytes allocated before it
        std::uint32_t thread; // the thread that allocated it, or moved it by realloc
        std::uint32_t reallocs;
        std::uint8_t alignment_log2;
    };
    struct Sum {
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
        void add(std::uint64_t b) {
            ++count;
            bytes += b;
        }
        void remove(std::uint64_t b) {
            --count;
            bytes -= b;
        }
    };
    /// A size class of the malloc; above the largest class, the sizes up to a power of two.
    struct Group {
        Sum allocated;
        std::uint64_t rounded = 0; // bytes of all allocations, rounded up to the class
        Sum live;
        std::uint64_t live_rounded = 0;
        std::uint64_t most_rounded = 0;
    };
    struct Interval {
        std::uint64_t live = 0; // the maximum in the interval
        std::uint64_t rounded = 0;
        std::uint64_t allocated = 0;
        std::uint64_t allocations = 0;
        std::uint64_t frees = 0;
        std::uint64_t remote = 0;
    };
    struct Thread {
        std::uint64_t calls = 0;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        Sum allocated;
        std::uint64_t frees = 0;        // by it
        std::uint64_t frees_remote = 0; // by this thread, of blocks of other threads
        std::uint64_t lost = 0;         // blocks of its own, by others
        std::uint64_t live = 0;
        std::uint64_t most_live = 0;
        std::uint32_t place = 0; // rank by the number of calls
        bool moving = false;     // between the two records of a realloc
        bool known = false;
        std::uint64_t from = 0;
        Block block{};
    };

    struct Place {
        std::size_t group;
        std::uint64_t rounded;
    };
    static Place place_of(std::uint64_t size, unsigned alignment_log2);
    static std::size_t log_of(std::uint64_t size) { return static_cast<std::size_t>(std::bit_width(size)); }

    void advance(std::uint64_t nanoseconds);
    void widen();
    void allocate(std::uint64_t address, const Block &block);
    void put(std::uint64_t address, const Block &block);
    void grow(const Block &block);
    void shrink(const Block &block);
    void release(std::uint32_t by, const Block &block);
    void moved(const TraceEvent &event);

    nlohmann::ordered_json describe_over_time() const;
    nlohmann::ordered_json describe_sizes() const;
    nlohmann::ordered_json describe_classes() const;
    nlohmann::ordered_json describe_lifetimes() const;
    nlohmann::ordered_json describe_threads() const;
    nlohmann::ordered_json describe_realloc() const;

    const TraceFile &trace_;
    std::uint64_t image_;
    std::uint64_t calls_[trace::last_op + 1] = {};
    std::unordered_map<std::uint64_t, Block> blocks_;
    std::vector<Thread> threads_;
    std::vector<std::uint32_t> busiest_;

    bool begun_ = false;
    std::uint64_t start_ = 0;
    std::uint64_t now_ = 0; // since start_
    Sum allocated_;
    Sum live_;
    std::uint64_t rounded_ = 0;
    std::uint64_t peak_ = 0;
    std::uint64_t peak_at_ = 0;
    bool at_peak_ = false; // now is the peak; at_peak_groups_ is older
    std::uint64_t unknown_ = 0;
    std::uint64_t unknown_reallocs_ = 0;
    std::uint64_t overlapping_ = 0;
    std::uint64_t of_nothing_ = 0;

    static constexpr std::size_t intervals = 512;
    std::array<Interval, intervals> over_time_{};
    std::size_t interval_ = 0;
    std::uint64_t width_ = 1000;

    std::array<Sum, 1 + logs> sizes_{}; // the first is of size 0
    std::vector<std::uint64_t> exact_;  // allocations of each size up to the largest class
    std::array<Group, groups> groups_{};
    std::array<std::array<std::uint64_t, 3>, groups> at_peak_groups_{}; // blocks, bytes, rounded
    std::uint64_t rounded_at_peak_ = 0;

    static constexpr std::size_t ages = 40;
    std::array<Sum, ages> by_time_{};
    std::array<Sum, ages> by_bytes_{};

    static constexpr std::size_t shown_threads =
        12; // of the table which thread frees whose blocks; the last row is for all other threads
    std::array<std::array<std::uint64_t, shown_threads + 1>, shown_threads + 1> handed_{};
    Sum freed_;
    Sum freed_remote_;

    struct {
        std::uint64_t count = 0, failed = 0, grown = 0, shrunk = 0, same = 0, in_place = 0, remote = 0;
        Sum moved; // and the bytes that had to be copied
        std::array<std::uint64_t, 7> factors{};
        std::array<std::uint64_t, 6>
            chains{}; // blocks by how often they were resized: 0, 1, 2-3, 4-7, 8-15, more
        std::uint64_t longest_chain = 0;
    } resized_;
};

/// The process image that made the most calls; the default.
std::uint64_t busiest_image(const TraceFile &trace);

/// The process images with the most calls, `most` at most.
nlohmann::ordered_json describe_images(const TraceFile &trace, std::size_t most);

} // namespace cairn::cli
