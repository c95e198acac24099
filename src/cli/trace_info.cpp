// SPDX-License-Identifier: MIT
//
// `cairn trace-info`: what a trace holds, in lines of a name and a number, or all figures of a process as JSON.
#include <src/cli/commands.hpp>
#include <src/cli/trace_figures.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <unordered_map>

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
    std::cout << all.dump() << '\n';
    std::cout.flush();
    return std::cout.good() ? 0 : 1;
}

} // namespace

int trace_info(const std::string &path, std::uint64_t process, bool json) {
    using trace::Op;
    try {
        const TraceFile file(path);
        if (process > file.images()) {
            throw BadTrace(path + ": there is no process " + std::to_string(process) + ", only " +
                           std::to_string(file.images()));
        }
        if (json) {
            return print_json(file, path, process);
        }
        std::uint64_t counts[trace::last_op + 1] = {};
        std::unordered_map<std::uint64_t, std::uint64_t> sizes; // of live blocks
        std::uint64_t live = 0;
        std::uint64_t peak = 0;
        std::uint64_t ended = 0;
        std::uint64_t unknown = 0;
        std::uint64_t overlapping = 0;
        const auto forget = [&](std::uint64_t address) {
            const auto found = sizes.find(address);
            if (found == sizes.end()) {
                ++unknown;
                return;
            }
            live -= found->second;
            sizes.erase(found);
        };
        file.for_each(process, [&](const TraceEvent &event) {
            ++counts[static_cast<unsigned>(event.op)];
            ended = event.nanoseconds;
            if (event.op == Op::free || event.op == Op::realloc_from) {
                forget(event.address);
                return;
            }
            if (event.address == 0) {
                return;
            }
            overlapping += sizes.insert_or_assign(event.address, event.size).second ? 0 : 1;
            live += event.size;
            peak = std::max(peak, live);
        });
        const auto threads =
            std::count_if(file.threads().begin(), file.threads().end(), [&](const TracedThread &thread) {
                return process == 0 || thread.image == process;
            });
        std::cout << "processes " << file.images() << "\nthreads " << threads << "\nmilliseconds "
                  << ended / 1000000 << "\nmalloc " << counts[static_cast<unsigned>(Op::malloc)]
                  << "\ncalloc " << counts[static_cast<unsigned>(Op::calloc)] << "\naligned "
                  << counts[static_cast<unsigned>(Op::aligned)] << "\nrealloc "
                  << counts[static_cast<unsigned>(Op::realloc_to)] << "\nfree "
                  << counts[static_cast<unsigned>(Op::free)] << "\nlive " << live << "\npeak " << peak
                  << "\nunknown " << unknown << "\ndamaged "
                  << (process == 0 && file.images() > 1 ? 0 : overlapping) << '\n';
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
