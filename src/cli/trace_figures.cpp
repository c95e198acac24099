// SPDX-License-Identifier: MIT
#include <src/cli/trace_figures.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cairn::cli {

using nlohmann::ordered_json;
using trace::Op;

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most_threads_said = 64;
constexpr std::size_t most_sizes_said = 20;

/// Limits of lifetimes: 1, 2 and 5 times each power of ten, in nanoseconds; the last group has no upper limit.
template <std::size_t N>
consteval std::array<std::uint64_t, N> limits_of_time() {
    std::array<std::uint64_t, N> limits{};
    std::uint64_t decade = 100;
    for (std::size_t i = 0; i < N; ++i) {
        limits[i] = decade * (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 5);
        decade *= i % 3 == 2 ? 10 : 1;
    }
    limits[N - 1] = UINT64_MAX;
    return limits;
}

/// 0, then powers of two from 64.
template <std::size_t N>
consteval std::array<std::uint64_t, N> limits_of_bytes() {
    std::array<std::uint64_t, N> limits{};
    for (std::size_t i = 1; i < N; ++i) {
        limits[i] = std::uint64_t{32} << i;
    }
    limits[N - 1] = UINT64_MAX;
    return limits;
}

template <class Limits>
std::size_t index_in(const Limits &limits, std::uint64_t value) {
    return static_cast<std::size_t>(std::lower_bound(limits.begin(), limits.end(), value) - limits.begin());
}

/// The group of a realloc by the ratio of new to old size: shrunk, same, then up to 1.25, 1.5, 2, 4, more.
std::size_t factor_index(std::uint64_t from, std::uint64_t to) {
    if (to <= from) {
        return to == from ? 1 : 0;
    }
    const double factor = static_cast<double>(to) / static_cast<double>(std::max<std::uint64_t>(from, 1));
    return factor <= 1.25 ? 2 : factor <= 1.5 ? 3 : factor <= 2 ? 4 : factor <= 4 ? 5 : 6;
}

/// The indices of the entries, those with the largest `value` first.
template <class Value>
void sort_by(std::vector<std::uint32_t> &numbers, const Value &value) {
    std::sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
        return value(a) != value(b) ? value(a) > value(b) : a < b;
    });
}

} // namespace

TraceFigures::TraceFigures(const TraceFile &trace, std::uint64_t image)
    : trace_(trace), image_(image), threads_(trace.threads().size()), exact_(Classes::largest + 1) {
    for (std::uint32_t i = 0; i < threads_.size(); ++i) {
        threads_[i].place = shown_threads;
        if (trace.threads()[i].image == image) {
            busiest_.push_back(i);
        }
    }
    sort_by(busiest_, [&](std::uint32_t i) { return trace.calls(i); });
    for (std::uint32_t i = 0; i < std::min(busiest_.size(), shown_threads); ++i) {
        threads_[busiest_[i]].place = i;
    }
}

TraceFigures::Place TraceFigures::place_of(std::uint64_t size, unsigned alignment_log2) {
    const std::uint64_t alignment = std::uint64_t{1} << std::min(alignment_log2, 38u);
    if (size <= Classes::largest && alignment <= Classes::largest) {
        const unsigned c = Classes::aligned_class_of(size, alignment);
        return {c, Classes::size_of(c)};
    }
    return {Classes::count + log_of(std::max<std::uint64_t>(size, 1) - 1), ceil_div(size, page) * page};
}

/// Joins intervals in pairs until now_ lies in one of them.
void TraceFigures::widen() {
    for (std::size_t i = 0; i < intervals / 2; ++i) {
        const Interval &a = over_time_[2 * i];
        const Interval &b = over_time_[2 * i + 1];
        over_time_[i] = {std::max(a.live, b.live),  std::max(a.rounded, b.rounded),
                         a.allocated + b.allocated, a.allocations + b.allocations,
                         a.frees + b.frees,         a.remote + b.remote};
    }
    std::fill(over_time_.begin() + intervals / 2, over_time_.end(), Interval{});
    interval_ /= 2;
    width_ *= 2;
}

void TraceFigures::advance(std::uint64_t nanoseconds) {
    start_ = begun_ ? start_ : nanoseconds;
    begun_ = true;
    now_ = std::max(now_, nanoseconds - start_);
    while (now_ / width_ >= intervals) {
        widen();
    }
    while (interval_ < now_ / width_) {
        ++interval_;
        over_time_[interval_].live = live_.bytes;
        over_time_[interval_].rounded = rounded_;
    }
}

void TraceFigures::grow(const Block &block) {
    const auto [group, rounded] = place_of(block.size, block.alignment_log2);
    Group &g = groups_[group];
    g.live.add(block.size);
    g.live_rounded += rounded;
    g.most_rounded = std::max(g.most_rounded, g.live_rounded);
    live_.add(block.size);
    rounded_ += rounded;
    Thread &thread = threads_[block.thread];
    thread.live += block.size;
    thread.most_live = std::max(thread.most_live, thread.live);
    Interval &interval = over_time_[interval_];
    interval.live = std::max(interval.live, live_.bytes);
    interval.rounded = std::max(interval.rounded, rounded_);
    if (live_.bytes > peak_) {
        peak_ = live_.bytes;
        peak_at_ = now_;
        rounded_at_peak_ = rounded_;
        at_peak_ = true;
    }
}

void TraceFigures::shrink(const Block &block) {
    if (at_peak_) {
        at_peak_ = false;
        for (std::size_t i = 0; i < groups; ++i) {
            at_peak_groups_[i] = {groups_[i].live.count, groups_[i].live.bytes, groups_[i].live_rounded};
        }
    }
    const auto [group, rounded] = place_of(block.size, block.alignment_log2);
    groups_[group].live.remove(block.size);
    groups_[group].live_rounded -= rounded;
    live_.remove(block.size);
    rounded_ -= rounded;
    threads_[block.thread].live -= block.size;
}

/// Adds a block, at an address where no other one should be live.
void TraceFigures::put(std::uint64_t address, const Block &block) {
    const auto [found, fresh] = blocks_.try_emplace(address, block);
    if (!fresh) {
        ++overlapping_;
        shrink(found->second);
        found->second = block;
    }
    grow(block);
}

void TraceFigures::allocate(std::uint64_t address, const Block &block) {
    const auto [group, rounded] = place_of(block.size, block.alignment_log2);
    allocated_.add(block.size);
    groups_[group].allocated.add(block.size);
    groups_[group].rounded += rounded;
    sizes_[block.size == 0 ? 0 : log_of(block.size - 1) + 1].add(block.size);
    if (block.size < exact_.size()) {
        ++exact_[block.size];
    }
    of_nothing_ += block.size == 0 ? 1 : 0;
    threads_[block.thread].allocated.add(block.size);
    over_time_[interval_].allocated += block.size;
    ++over_time_[interval_].allocations;
    put(address, block);
}

void TraceFigures::release(std::uint32_t by, const Block &block) {
    static constexpr auto time_limits = limits_of_time<ages>();
    static constexpr auto byte_limits = limits_of_bytes<ages>();
    by_time_[index_in(time_limits, now_ - block.born)].add(block.size);
    // The block's own bytes do not count as allocated in the meantime.
    by_bytes_[index_in(byte_limits, allocated_.bytes - block.before)].add(block.size);
    ++resized_.chains[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(block.reallocs)), 5)];
    freed_.add(block.size);
    Interval &interval = over_time_[interval_];
    ++interval.frees;
    ++threads_[by].frees;
    if (by != block.thread) {
        freed_remote_.add(block.size);
        ++interval.remote;
        ++threads_[by].frees_remote;
        ++threads_[block.thread].lost;
    }
    ++handed_[threads_[block.thread].place][threads_[by].place];
}

void TraceFigures::moved(const TraceEvent &event) {
    Thread &thread = threads_[event.thread];
    const bool known = thread.moving && thread.known;
    thread.moving = thread.known = false;
    if (event.address == 0) {
        ++resized_.failed;
        if (known) {
            blocks_[thread.from] = thread.block;
        }
        return;
    }
    Block block{event.size, now_, 0, event.thread, 0, 0};
    if (!known) {
        ++unknown_reallocs_;
        block.before = allocated_.bytes + event.size;
        return allocate(event.address, block);
    }
    const Block &old = thread.block;
    block.born = old.born;
    block.before = old.before;
    block.reallocs = old.reallocs + 1;
    ++resized_.count;
    ++(event.size > old.size ? resized_.grown : event.size < old.size ? resized_.shrunk : resized_.same);
    ++resized_.factors[factor_index(old.size, event.size)];
    resized_.longest_chain = std::max<std::uint64_t>(resized_.longest_chain, block.reallocs);
    resized_.remote += old.thread != event.thread ? 1 : 0;
    if (event.address == thread.from) {
        ++resized_.in_place;
    } else {
        resized_.moved.add(std::min(old.size, event.size));
    }
    shrink(old);
    allocate(event.address, block);
}

void TraceFigures::take(const TraceEvent &event) {
    advance(event.nanoseconds);
    ++calls_[static_cast<unsigned>(event.op)];
    Thread &thread = threads_[event.thread];
    thread.first = thread.calls == 0 ? now_ : thread.first;
    thread.last = now_;
    thread.calls += event.op == Op::realloc_from ? 0 : 1; // realloc_to counts for the call
    switch (event.op) {
    case Op::malloc:
    case Op::calloc:
    case Op::aligned:
        if (event.address != 0) {
            allocate(event.address, {event.size, now_, allocated_.bytes + event.size, event.thread, 0,
                                     event.op == Op::aligned ? event.alignment_log2 : std::uint8_t{0}});
        }
        return;
    case Op::free:
    case Op::realloc_from: {
        const auto found = blocks_.find(event.address);
        const bool known = found != blocks_.end();
        if (event.op == Op::realloc_from) {
            thread.moving = true;
            thread.known = known;
            thread.from = event.address;
        }
        if (!known) {
            unknown_ += event.op == Op::free ? 1 : 0;
            return;
        }
        const Block block = found->second;
        blocks_.erase(found);
        if (event.op == Op::free) {
            shrink(block);
            release(event.thread, block);
        } else {
            thread.block = block;
        }
        return;
    }
    case Op::realloc_to:
        return moved(event);
    default:
        return;
    }
}

ordered_json TraceFigures::describe_over_time() const {
    ordered_json all = {{"interval_ns", width_}};
    const std::size_t used = begun_ ? interval_ + 1 : 0;
    const auto column = [&](const char *name, std::uint64_t Interval::*field) {
        ordered_json &values = all[name] = ordered_json::array();
        for (std::size_t i = 0; i < used; ++i) {
            values.push_back(over_time_[i].*field);
        }
    };
    column("live", &Interval::live);
    column("rounded", &Interval::rounded);
    column("allocated", &Interval::allocated);
    column("allocations", &Interval::allocations);
    column("frees", &Interval::frees);
    column("frees_remote", &Interval::remote);
    return all;
}

ordered_json TraceFigures::describe_sizes() const {
    ordered_json rows = ordered_json::array();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        if (sizes_[i].count != 0) {
            rows.push_back({{"to", i == 0 ? 0 : std::uint64_t{1} << (i - 1)},
                            {"allocations", sizes_[i].count},
                            {"bytes", sizes_[i].bytes}});
        }
    }
    return rows;
}

ordered_json TraceFigures::describe_classes() const {
    ordered_json rows = ordered_json::array();
    for (std::size_t i = 0; i < groups; ++i) {
        const Group &g = groups_[i];
        if (g.allocated.count == 0) {
            continue;
        }
        const bool small = i < Classes::count;
        const auto peak =
            at_peak_ ? std::array{g.live.count, g.live.bytes, g.live_rounded} : at_peak_groups_[i];
        rows.push_back({{"to", small ? Classes::size_of(static_cast<unsigned>(i))
                                     : std::uint64_t{1} << (i - Classes::count)},
                        {"class", small},
                        {"allocations", g.allocated.count},
                        {"bytes", g.allocated.bytes},
                        {"rounded", g.rounded},
                        {"most_rounded", g.most_rounded},
                        {"at_peak", {{"blocks", peak[0]}, {"bytes", peak[1]}, {"rounded", peak[2]}}}});
    }
    return rows;
}

ordered_json TraceFigures::describe_lifetimes() const {
    const auto rows = [](const auto &sums, const auto &limits) {
        ordered_json all = ordered_json::array();
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if (sums[i].count != 0) {
                all.push_back(
                    {{"from", i == 0 ? 0 : limits[i - 1]},
                     {"to", limits[i] == UINT64_MAX ? ordered_json(nullptr) : ordered_json(limits[i])},
                     {"blocks", sums[i].count},
                     {"bytes", sums[i].bytes}});
            }
        }
        return all;
    };
    return {{"by_ns", rows(by_time_, limits_of_time<ages>())},
            {"by_allocated_bytes", rows(by_bytes_, limits_of_bytes<ages>())},
            {"not_freed", {{"blocks", live_.count}, {"bytes", live_.bytes}}}};
}

ordered_json TraceFigures::describe_threads() const {
    ordered_json rows = ordered_json::array();
    const std::size_t said = std::min(busiest_.size(), most_threads_said);
    Thread rest;
    for (std::size_t i = 0; i < busiest_.size(); ++i) {
        const Thread &t = threads_[busiest_[i]];
        if (i >= said) {
            rest.calls += t.calls;
            rest.allocated.count += t.allocated.count;
            rest.allocated.bytes += t.allocated.bytes;
            rest.frees += t.frees;
            rest.frees_remote += t.frees_remote;
            rest.lost += t.lost;
            continue;
        }
        rows.push_back({{"id", trace_.threads()[busiest_[i]].id},
                        {"calls", t.calls},
                        {"first_ns", t.first},
                        {"last_ns", t.last},
                        {"allocations", t.allocated.count},
                        {"bytes", t.allocated.bytes},
                        {"frees", t.frees},
                        {"frees_of_others", t.frees_remote},
                        {"freed_by_others", t.lost},
                        {"most_live", t.most_live}});
    }
    ordered_json handed = ordered_json::array();
    const std::size_t columns = std::min(busiest_.size(), shown_threads + 1);
    for (std::size_t i = 0; i < columns; ++i) {
        handed.push_back(std::vector<std::uint64_t>(
            handed_[i].begin(), handed_[i].begin() + static_cast<std::ptrdiff_t>(columns)));
    }
    return {{"count", busiest_.size()},
            {"busiest", rows},
            {"others",
             {{"threads", busiest_.size() - said},
              {"calls", rest.calls},
              {"allocations", rest.allocated.count},
              {"bytes", rest.allocated.bytes},
              {"frees", rest.frees},
              {"frees_of_others", rest.frees_remote},
              {"freed_by_others", rest.lost}}},
            {"who_frees_whose", handed}};
}

ordered_json TraceFigures::describe_realloc() const {
    constexpr const char *factors[] = {"smaller",    "the same size", "to 1.25 times", "to 1.5 times",
                                       "to 2 times", "to 4 times",    "more"};
    constexpr const char *chains[] = {"0", "1", "2 to 3", "4 to 7", "8 to 15", "16 and more"};
    ordered_json by_factor;
    for (std::size_t i = 0; i < resized_.factors.size(); ++i) {
        by_factor[factors[i]] = resized_.factors[i];
    }
    ordered_json by_chain;
    for (std::size_t i = 0; i < resized_.chains.size(); ++i) {
        by_chain[chains[i]] = resized_.chains[i];
    }
    return {{"count", resized_.count},
            {"grown", resized_.grown},
            {"shrunk", resized_.shrunk},
            {"same", resized_.same},
            {"failed", resized_.failed},
            {"of_unknown", unknown_reallocs_},
            {"in_place", resized_.in_place},
            {"moved", resized_.moved.count},
            {"moved_bytes", resized_.moved.bytes},
            {"of_others", resized_.remote},
            {"by_factor", by_factor},
            {"freed_blocks_by_resizes", by_chain},
            {"most_resizes", resized_.longest_chain}};
}

ordered_json TraceFigures::describe() const {
    const auto calls = [&](Op op) { return calls_[static_cast<unsigned>(op)]; };
    std::vector<std::uint32_t> order;
    for (std::uint32_t size = 0; size < exact_.size(); ++size) {
        if (exact_[size] != 0) {
            order.push_back(size);
        }
    }
    sort_by(order, [&](std::uint32_t size) { return exact_[size]; });
    ordered_json common = ordered_json::array();
    for (std::size_t i = 0; i < std::min(order.size(), most_sizes_said); ++i) {
        common.push_back({{"size", order[i]}, {"allocations", exact_[order[i]]}});
    }
    return {{"process", image_},
            {"pid", trace_.pid(image_)},
            {"begins_ns", start_},
            {"nanoseconds", now_},
            {"calls",
             {{"malloc", calls(Op::malloc)},
              {"calloc", calls(Op::calloc)},
              {"aligned", calls(Op::aligned)},
              {"realloc", calls(Op::realloc_to)},
              {"free", calls(Op::free)}}},
            {"of_0_bytes", of_nothing_},
            {"free_unknown", unknown_},
            {"overlapping", overlapping_},
            {"allocations", allocated_.count},
            {"allocated", allocated_.bytes},
            {"freed", {{"blocks", freed_.count}, {"bytes", freed_.bytes}}},
            {"freed_by_another_thread", {{"blocks", freed_remote_.count}, {"bytes", freed_remote_.bytes}}},
            {"live_at_end", {{"blocks", live_.count}, {"bytes", live_.bytes}}},
            {"peak", {{"live", peak_}, {"at_ns", peak_at_}, {"rounded", rounded_at_peak_}}},
            {"over_time", describe_over_time()},
            {"sizes", describe_sizes()},
            {"different_sizes", order.size()},
            {"common_sizes", common},
            {"classes", describe_classes()},
            {"lifetimes", describe_lifetimes()},
            {"threads", describe_threads()},
            {"reallocs", describe_realloc()}};
}

namespace {

struct Image {
    std::uint64_t number;
    std::uint64_t threads;
    std::uint64_t records;
};

std::vector<Image> images_by_calls(const TraceFile &trace) {
    std::vector<Image> images(trace.images());
    for (std::size_t i = 0; i < images.size(); ++i) {
        images[i] = {i + 1, 0, 0};
    }
    for (std::uint32_t i = 0; i < trace.threads().size(); ++i) {
        Image &image = images[trace.threads()[i].image - 1];
        ++image.threads;
        image.records += trace.calls(i);
    }
    std::sort(images.begin(), images.end(), [](const Image &a, const Image &b) {
        return a.records != b.records ? a.records > b.records : a.number < b.number;
    });
    return images;
}

} // namespace

std::uint64_t busiest_image(const TraceFile &trace) {
    const auto images = images_by_calls(trace);
    return images.empty() ? 1 : images.front().number;
}

ordered_json describe_images(const TraceFile &trace, std::size_t most) {
    ordered_json rows = ordered_json::array();
    for (const Image &image : images_by_calls(trace)) {
        if (rows.size() == most) {
            break;
        }
        rows.push_back({{"process", image.number},
                        {"pid", trace.pid(image.number)},
                        {"threads", image.threads},
                        {"records", image.records}});
    }
    return rows;
}

} // namespace cairn::cli
