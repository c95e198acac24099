// SPDX-License-Identifier: MIT
//
// `cairn trace-info`: the contents of a trace, in lines of a name and a number, or all figures of a process as JSON.
#include <src/cli/commands.hpp>
#include <src/cli/json_text.hpp>
#include <src/cli/trace_figures.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cairn::cli {
namespace {

int print_json(const TraceFile &file, const std::string &path, std::uint64_t process) {
    constexpr std::size_t images_said = 50;
    const std::uint64_t image = process == 0 ? busiest_image(file) : process;
    TraceFigures figures(file, image);
    file.for_each(image, [&](const TraceEvent &event) { figures.take(event); });
    nlohmann::ordered_json all = {{"what", "cairn trace-info"},
                                  {"version", CAIRN_VERSION},
                                  {"trace", path},
                                  {"stopped_early", file.stopped_early()},
                                  {"processes", file.images()},
                                  {"busiest_processes", describe_images(file, images_said)}};
    all.update(figures.describe());
    std::cout << json_text(all);
    return 0;
}

/// The sums over the calls of a process image, or of all.
class Sums {
public:
    explicit Sums(const TraceFile &file) : file_(file), moving_(file.threads().size()) {}

    void take(const TraceEvent &event) {
        ++counts_[static_cast<unsigned>(event.op)];
        ended_ = event.nanoseconds;
        const TracedBlock block{file_.threads()[event.thread].image, event.address};
        switch (event.op) {
        case Op::free:
            forget(block);
            break;
        case Op::realloc_from:
            moving_[event.thread] = {block, forget(block)};
            break;
        default:
            if (event.address != 0) {
                keep(block, event.size);
            } else if (const auto &[stays, size] = moving_[event.thread]; size.has_value()) {
                keep(stays, *size); // a realloc that failed
            }
        }
    }

    void print() const {
        const auto count = [&](Op op) { return counts_[static_cast<unsigned>(op)]; };
        std::cout << "milliseconds " << ended_ / 1000000 << "\nmalloc " << count(Op::malloc) << "\ncalloc "
                  << count(Op::calloc) << "\naligned " << count(Op::aligned) << "\nrealloc "
                  << count(Op::realloc_to) << "\nfree " << count(Op::free) << "\nlive " << live_ << "\npeak "
                  << peak_ << "\nunknown " << unknown_ << "\ndamaged " << overlapping_ << '\n';
    }

private:
    using Op = trace::Op;

    void keep(const TracedBlock &block, std::uint64_t size) {
        const auto [found, fresh] = sizes_.try_emplace(block, size);
        if (!fresh) {
            ++overlapping_;
            live_ -= std::exchange(found->second, size);
        }
        live_ += size;
        peak_ = std::max(peak_, live_);
    }
    /// Removes a block; returns its size if it was there.
    std::optional<std::uint64_t> forget(const TracedBlock &block) {
        const auto found = sizes_.find(block);
        if (found == sizes_.end()) {
            ++unknown_;
            return {};
        }
        const std::uint64_t size = found->second;
        live_ -= size;
        sizes_.erase(found);
        return size;
    }

    const TraceFile &file_;
    std::unordered_map<TracedBlock, std::uint64_t, TracedBlock::Hash> sizes_;  // of live blocks
    std::vector<std::pair<TracedBlock, std::optional<std::uint64_t>>> moving_; // each thread's, in a realloc
    std::uint64_t counts_[trace::last_op + 1] = {};
    std::uint64_t live_ = 0;
    std::uint64_t peak_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t unknown_ = 0;
    std::uint64_t overlapping_ = 0;
};

} // namespace

int trace_info(const std::string &path, std::uint64_t process, bool json) {
    try {
        const TraceFile file(path);
        if (process > file.images()) {
            throw BadTrace(path + ": there is no process " + std::to_string(process) + ", only " +
                           std::to_string(file.images()));
        }
        if (json) {
            return print_json(file, path, process);
        }
        Sums sums(file);
        file.for_each(process, [&](const TraceEvent &event) { sums.take(event); });
        const auto threads =
            std::count_if(file.threads().begin(), file.threads().end(), [&](const TracedThread &thread) {
                return process == 0 || thread.image == process;
            });
        std::cout << "processes " << file.images() << "\nthreads " << threads << '\n';
        sums.print();
        if (file.stopped_early()) {
            std::cout << "stopped early\n";
        }
    } catch (const BadTrace &why) {
        std::cerr << "cairn: " << why.what() << '\n';
        return 1;
    }
    return 0;
}

} // namespace cairn::cli
