// SPDX-License-Identifier: MIT
//
// `cairn replay`: makes a plan of a trace, runs cairn-replay on it with each allocator in turn, several rounds, and
// prints the results.
#include <src/cli/commands.hpp>
#include <src/cli/json_text.hpp>
#include <src/cli/libraries.hpp>
#include <src/cli/output_file.hpp>
#include <src/cli/replay_plan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using replay::Outcome;
using replay::Sample;
using replay::State;

constexpr double mebibyte = 1024 * 1024;
constexpr const char *call_names[replay::calls] = {"malloc", "calloc", "aligned", "realloc", "free"};

/// A temporary file without a name: the kernel removes it when the last process that has it open ends in any way.
int open_nameless() {
    const char *const base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr && *base != 0 ? base : "/tmp") + "/cairn-replay.XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) {
        throw BadTrace(name + ": " + std::strerror(errno));
    }
    unlink(name.c_str());
    return file;
}

/// The path by which a child that inherits the descriptor opens the file.
std::string path_of(int file) {
    return "/proc/self/fd/" + std::to_string(file);
}

/// Memory that is shared with the replaying program, which writes its results there.
class SharedOutcome {
public:
    SharedOutcome() : file_(memfd_create("cairn replay", MFD_CLOEXEC)) {
        void *p = MAP_FAILED;
        // Not ftruncate: without space on the device the first store would raise SIGBUS.
        errno = file_ < 0 ? errno : posix_fallocate(file_, 0, sizeof(Outcome));
        if (errno == 0) {
            p = mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        }
        if (p == MAP_FAILED) {
            throw BadTrace(std::string("memory for the outcome: ") + std::strerror(errno));
        }
        outcome_ = new (p) Outcome{};
    }
    ~SharedOutcome() { munmap(outcome_, sizeof *outcome_); }
    SharedOutcome(const SharedOutcome &) = delete;
    SharedOutcome &operator=(const SharedOutcome &) = delete;
    int file() const { return file_; }
    const Outcome &operator*() const { return *outcome_; }

private:
    Descriptor file_;
    Outcome *outcome_ = nullptr;
};

struct Allocator {
    std::string name;
    fs::path library; ///< "" for the C library's malloc
    std::vector<ordered_json> runs;
};

Allocator find_allocator(const std::string &word) {
    if (word == "glibc") {
        return {word, {}, {}};
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
        return {word, find_library(word), {}};
    }
    const std::string file = word.substr(equals + 1);
    if (file.find('/') == std::string::npos && fs::path(file).extension() != ".so") {
        throw NoLibrary(wrong_usage, "'" + word + "' is not NAME=PATH.so");
    }
    return {word.substr(0, equals), find_library(file), {}};
}

std::string last_line(const fs::path &path) {
    std::ifstream file(path);
    std::string last;
    for (std::string line; std::getline(file, line);) {
        last = line.empty() ? last : line;
    }
    return last.substr(0, 400);
}

/// A run of the replaying program.
class Run {
public:
    Run(int plan_file, const ReplayRequest &request, const PlanSummary &plan)
        : plan_file_(plan_file), request_(request), plan_(plan) {}

    ordered_json operator()(const Allocator &allocator) {
        const SharedOutcome outcome;
        const Descriptor said(open_nameless());
        const int status = run(allocator, outcome, said);
        return describe(*outcome, status, last_line(path_of(said)));
    }

private:
    int run(const Allocator &allocator, const SharedOutcome &outcome, int said) {
        const std::string program = library_folder() / "cairn" / "cairn-replay";
        const std::string plan = path_of(plan_file_);
        const std::string shared = path_of(outcome.file());
        hang_ = false;
        const pid_t self = getpid();
        const pid_t child = fork();
        if (child < 0) {
            throw BadTrace(std::string("can not start a process: ") + std::strerror(errno));
        }
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); // ends with this program
            if (getppid() != self) {
                _exit(not_found);
            }
            for (const char *name : {"LD_PRELOAD", "CAIRN_TRACE", "CAIRN_STATS"}) {
                unsetenv(name);
            }
            if (!allocator.library.empty()) {
                setenv("LD_PRELOAD", allocator.library.c_str(), 1);
            }
            dup2(said, STDOUT_FILENO);
            dup2(said, STDERR_FILENO);
            for (const int file : {plan_file_, outcome.file()}) {
                fcntl(file, F_SETFD, 0);
            }
            execl(program.c_str(), program.c_str(), plan.c_str(), shared.c_str(), allocator.library.c_str(),
                  request_.touch ? "1" : "0", static_cast<char *>(nullptr));
            _exit(not_found);
        }
        int status = 0;
        std::uint64_t before = 0;
        // Counts checks without progress and reads no clock: both programs may have been stopped, or the machine
        // suspended.
        constexpr timespec pause{0, 10'000'000};
        constexpr unsigned looks_a_second = 100;
        unsigned looks = 0;
        for (;;) {
            const pid_t ended = waitpid(child, &status, WNOHANG);
            if (ended == child) {
                return status;
            }
            // relaxed: only a change of the value matters.
            const std::uint64_t now = (*outcome).calls_made.load(std::memory_order_relaxed);
            looks = now != before ? 0 : looks + 1;
            before = now;
            hang_ = looks > request_.timeout * looks_a_second;
            if (hang_) {
                kill(child, SIGKILL);
                waitpid(child, &status, 0);
                return status;
            }
            nanosleep(&pause, nullptr);
        }
    }

    std::string where(const Outcome &outcome) const {
        const std::uint64_t made = outcome.calls_made.load();
        if (made >= plan_.header.calls) {
            return "after the last call";
        }
        return "in call " + std::to_string(made + 1) + " of " + std::to_string(plan_.header.calls) + " (" +
               call_names[std::min<std::uint64_t>(outcome.kind, replay::calls - 1)] + " of " +
               std::to_string(outcome.size) + " bytes)";
    }

    ordered_json describe(const Outcome &outcome, int status, const std::string &said) const {
        const auto failure = [&](const char *state, const std::string &why) -> ordered_json {
            return {{"state", state}, {"message", why + (said.empty() ? "" : ": " + said)}};
        };
        if (hang_) {
            return failure("HANG",
                           "no progress in " + std::to_string(request_.timeout) + " s " + where(outcome));
        }
        if (WIFSIGNALED(status)) {
            return failure("CRASH", "signal " + std::to_string(WTERMSIG(status)) + " " + where(outcome));
        }
        if (outcome.state == State::wrong) {
            return failure("WRONG", std::string(outcome.message) + ", " + where(outcome));
        }
        if (outcome.state == State::can_not_go) {
            return failure("NOT RUN", outcome.message);
        }
        if (outcome.state != State::done) {
            return failure("CRASH", "it ended with status " + std::to_string(WEXITSTATUS(status)) + " " +
                                        where(outcome));
        }
        return figures(outcome);
    }

    static ordered_json figures(const Outcome &outcome, const Sample &sample) {
        ordered_json row = {{"call", sample.call}, {"live", sample.live}, {"resident", sample.resident}};
        row["lazy_free"] = sample.lazy_free;
        row["huge_pages"] = sample.huge_pages;
        if (outcome.knows_usable != 0) {
            row["usable"] = sample.usable;
        }
        if (outcome.knows_blocks != 0) {
            row["of_blocks"] = sample.of_blocks;
        }
        return row;
    }

    ordered_json figures(const Outcome &outcome) const {
        ordered_json run = {{"state", "ok"}};
        double seconds = 0;
        ordered_json by_kind;
        for (std::size_t i = 0; i < replay::calls; ++i) {
            seconds += outcome.seconds[i];
            by_kind[call_names[i]] = {{"calls", outcome.counts[i]}, {"seconds", outcome.seconds[i]}};
        }
        run["seconds"] = seconds;
        run["seconds_with_use"] = outcome.seconds_with_use;
        run["by_call"] = by_kind;
        run["of_a_millisecond"] = {{"calls", outcome.long_calls}, {"seconds", outcome.seconds_in_long_calls}};
        run["A"] = outcome.peak;
        const auto used = static_cast<double>(std::max<std::uint64_t>(plan_.header.peak, 1));
        run["A/U"] = static_cast<double>(outcome.peak) / used;
        if (outcome.knows_blocks != 0) {
            run["A_of_blocks"] = outcome.peak_of_blocks;
            run["A_of_blocks/U"] = static_cast<double>(outcome.peak_of_blocks) / used;
        }
        run["faults"] = outcome.faults;
        run["involuntary_switches"] = outcome.switches;
        run["turns"] = outcome.turns;
        run["at_peak"] = figures(outcome, outcome.at_peak);
        run["drained"] = figures(outcome, outcome.drained);
        run["settled"] = figures(outcome, outcome.settled);
        run["samples"] = ordered_json::array();
        for (std::size_t i = 0; i < std::min<std::size_t>(outcome.samples_taken, replay::most_samples); ++i) {
            run["samples"].push_back(figures(outcome, outcome.samples[i]));
        }
        return run;
    }

    int plan_file_;
    const ReplayRequest &request_;
    const PlanSummary &plan_;
    bool hang_ = false;
};

/// The median over the runs that have the figure.
ordered_json median(const std::vector<ordered_json> &runs, const ordered_json::json_pointer &name) {
    std::vector<ordered_json> values;
    for (const ordered_json &run : runs) {
        if (run.at("state") == "ok" && run.contains(name)) {
            values.push_back(run.at(name));
        }
    }
    std::sort(values.begin(), values.end());
    return values.empty() ? ordered_json(nullptr) : values[values.size() / 2];
}

ordered_json medians(const std::vector<ordered_json> &runs) {
    ordered_json all;
    for (const char *name :
         {"seconds", "seconds_with_use", "A", "A~1U", "A_of_blocks", "A_of_blocks~1U", "faults"}) {
        const ordered_json::json_pointer pointer("/" + std::string(name));
        all[pointer.back()] = median(runs, pointer);
    }
    all["drained"] = median(runs, ordered_json::json_pointer("/drained/resident"));
    all["settled"] = median(runs, ordered_json::json_pointer("/settled/resident"));
    return all;
}

std::string cell(const ordered_json &value, double unit, int digits) {
    if (!value.is_number()) {
        return "-";
    }
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value.get<double>() / unit);
    return text;
}

bool print_rows(const std::vector<Allocator> &allocators) {
    std::size_t width = 9;
    for (const Allocator &allocator : allocators) {
        width = std::max(width, allocator.name.size());
    }
    const auto name = static_cast<int>(width);
    std::printf("%-*s %9s %9s %6s %9s %6s %9s %9s %9s\n", name, "allocator", "calls s", "use s", "ratio",
                "A MiB", "A/U", "blocks/U", "faults", "end MiB");
    bool good = true;
    ordered_json first;
    for (const Allocator &allocator : allocators) {
        const auto bad = std::find_if(allocator.runs.begin(), allocator.runs.end(),
                                      [](const ordered_json &run) { return run.at("state") != "ok"; });
        if (bad != allocator.runs.end()) {
            good = false;
            std::printf("%-*s %s: %s\n", name, allocator.name.c_str(),
                        bad->at("state").get<std::string>().c_str(),
                        bad->at("message").get<std::string>().c_str());
            continue;
        }
        const ordered_json row = medians(allocator.runs);
        first = first.is_null() ? row.at("seconds") : first;
        const double base = std::max(first.get<double>(), 1e-9);
        std::printf("%-*s %9s %9s %6s %9s %6s %9s %9s %9s\n", name, allocator.name.c_str(),
                    cell(row.at("seconds"), 1, 4).c_str(), cell(row.at("seconds_with_use"), 1, 4).c_str(),
                    cell(row.at("seconds"), base, 2).c_str(), cell(row.at("A"), mebibyte, 1).c_str(),
                    cell(row.at("A/U"), 1, 2).c_str(), cell(row.at("A_of_blocks/U"), 1, 2).c_str(),
                    cell(row.at("faults"), 1, 0).c_str(), cell(row.at("settled"), mebibyte, 1).c_str());
    }
    return good;
}

std::string first_line(const char *path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

ordered_json describe(const ReplayRequest &request, const PlanSummary &plan, std::uint64_t images) {
    utsname system{};
    uname(&system);
    ordered_json calls;
    for (std::size_t i = 0; i < replay::calls; ++i) {
        calls[call_names[i]] = plan.counts[i];
    }
    return {{"what", "cairn replay"},
            {"version", CAIRN_VERSION},
            {"machine",
             {{"kernel", system.release},
              {"architecture", system.machine},
              {"processors", sysconf(_SC_NPROCESSORS_ONLN)},
              {"huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")}}},
            {"trace", fs::absolute(request.file).string()},
            {"process", request.process},
            {"processes", images},
            {"repeat", request.repeat},
            {"touch", request.touch},
            {"threads", plan.header.threads},
            {"threads_at_once", plan.header.most_threads},
            {"calls", calls},
            {"left_out", {{"free_unknown", plan.unknown}, {"realloc_failed", plan.failed}}},
            {"changed", {{"realloc_unknown_as_malloc", plan.from_before}, {"free_added", plan.overlapping}}},
            {"U", plan.header.peak},
            {"live_at_end", {{"bytes", plan.live}, {"blocks", plan.live_blocks}}}};
}

/// The memory that the system could give to programs, in bytes; 0 if unknown.
std::uint64_t available_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string name, rest; file >> name && std::getline(file, rest);) {
        if (name == "MemAvailable:") {
            return std::strtoull(rest.c_str(), nullptr, 10) * 1024;
        }
    }
    return 0;
}

int replay_all(const ReplayRequest &request, std::vector<Allocator> &allocators) {
    if (!request.json.empty()) {
        check_output(request.json, request.file);
    }
    const Descriptor plan_file(open_nameless());
    std::uint64_t images = 0;
    PlanSummary plan;
    {
        const TraceFile trace(request.file);
        images = trace.images();
        if (request.process > images) {
            throw BadTrace(request.file + ": there is no process " + std::to_string(request.process) +
                           ", only " + std::to_string(images));
        }
        plan = write_plan(trace, request.process, path_of(plan_file));
        if (trace.stopped_early()) {
            std::cerr << "cairn: replay: the trace ends before the program did\n";
        }
    }
    const std::uint64_t available = available_memory();
    if (request.touch && available != 0 && plan.header.peak > available / 10 * 8) {
        throw BadTrace(request.file + ": needs " + std::to_string(plan.header.peak) +
                       " bytes of memory, and " + std::to_string(available) + " are there; see --no-touch");
    }
    std::printf("process %llu of %llu: %llu calls of %llu threads; U, the most live bytes, %.1f MiB\n",
                static_cast<unsigned long long>(request.process), static_cast<unsigned long long>(images),
                static_cast<unsigned long long>(plan.header.calls),
                static_cast<unsigned long long>(plan.header.threads),
                static_cast<double>(plan.header.peak) / mebibyte);
    if (plan.unknown + plan.failed + plan.from_before + plan.overlapping != 0) {
        std::printf(
            "left out: %llu frees of blocks from before the trace, %llu reallocs that failed; reallocs of "
            "blocks from before, as malloc: %llu; frees added: %llu\n",
            static_cast<unsigned long long>(plan.unknown), static_cast<unsigned long long>(plan.failed),
            static_cast<unsigned long long>(plan.from_before),
            static_cast<unsigned long long>(plan.overlapping));
    }
    std::fflush(stdout);
    Run run(plan_file, request, plan);
    const bool terminal = isatty(STDERR_FILENO) != 0;
    for (unsigned round = 0; round < request.repeat; ++round) {
        for (std::size_t i = 0; i < allocators.size(); ++i) {
            Allocator &allocator = allocators[(i + round) % allocators.size()];
            if (terminal) {
                std::cerr << "\r\033[K" << round + 1 << '/' << request.repeat << ' ' << allocator.name
                          << std::flush;
            }
            // An allocator that hung would hang again.
            if (allocator.runs.empty() || allocator.runs.back().at("state") != "HANG") {
                allocator.runs.push_back(run(allocator));
            }
        }
    }
    if (terminal) {
        std::cerr << "\r\033[K" << std::flush;
    }
    const bool good = print_rows(allocators);
    if (!request.json.empty()) {
        ordered_json object = describe(request, plan, images);
        object["allocators"] = ordered_json::array();
        for (const Allocator &allocator : allocators) {
            const fs::path library = allocator.library.empty() ? c_library() : allocator.library;
            object["allocators"].push_back({{"name", allocator.name},
                                            {"library", library.string()},
                                            {"sha256", sha256_of(library)},
                                            {"median", medians(allocator.runs)},
                                            {"runs", allocator.runs}});
        }
        write_output(request.json, json_text(object, 1));
    }
    return good ? 0 : 1;
}

} // namespace

int replay(const ReplayRequest &request) {
    std::vector<Allocator> allocators;
    try {
        for (const std::string &word : request.allocators) {
            allocators.push_back(find_allocator(word));
        }
    } catch (const NoLibrary &why) {
        std::cerr << "cairn: replay: " << why.what() << '\n';
        return wrong_usage;
    }
    const fs::path program = library_folder() / "cairn" / "cairn-replay";
    std::error_code error;
    if (!fs::exists(program, error)) {
        std::cerr << "cairn: replay: " << not_there("program", program, error) << '\n';
        return can_not_run;
    }
    std::signal(SIGXFSZ, SIG_IGN); // a write beyond a limit is an error and no signal
    std::signal(SIGCHLD, SIG_DFL); // if it were ignored, runs would have no status
    try {
        return replay_all(request, allocators);
    } catch (const std::exception &why) {
        std::cerr << "cairn: replay: " << text_of(why) << '\n';
        return 1;
    }
}

} // namespace cairn::cli
