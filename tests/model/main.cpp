// SPDX-License-Identifier: MIT
//
// The checker's main: each kernel that was asked for, from its first execution to its last.
#include "engine.hpp"
#include "sites.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

namespace cairn::model {
namespace {

AnyKernel *kernels = nullptr;
AnyKernel **end_of_kernels = &kernels;
std::uint64_t seed_of_run = 1;

constexpr std::size_t stack_bytes = 256 << 10;

struct Report {
    std::uint64_t complete = 0;
    std::uint64_t repeats = 0;
    std::uint64_t late = 0;      ///< of `complete`, those with a late read
    std::uint64_t by_chance = 0; ///< besides
    bool all = false;
    bool found = false;
    std::string why;
    std::string choices;
    std::set<std::string> outcomes;
    double seconds = 0;
};

struct Settings {
    bool is_long = false;
    bool quiet = false;
    std::uint64_t by_chance = 0; ///< so many executions, by chance
    std::uint64_t limit = 0;     ///< at most so many of each kernel; 0: as it says itself
    std::string replay;
    Late::Try late; ///< the replayed execution's late read
    bool is_late = false;
};

void on_signal(int number) {
    Engine *const g = engine;
    static std::uint64_t last = ~std::uint64_t{0};
    if (number == SIGPROF) {
        if (g == nullptr || (g->current == outside && !g->finishing) || g->executions != last) {
            last = g != nullptr ? static_cast<std::uint64_t>(g->executions) : 0;
            return;
        }
    }
    if (g == nullptr || (g->current == outside && !g->over && number != SIGPROF && g->object == nullptr)) {
        static const char text[] = "the checker itself crashed\n";
        if (write(2, text, sizeof text - 1) < 0) {
        }
        std::_Exit(2);
    }
    g->failed = true;
    g->over = true;
    g->why = number == SIGPROF ? "a thread goes round for ever" : "a crash: memory that is not there";
    g->current = outside;
    _longjmp(g->scheduler, 1);
}

void catch_signals() {
    static std::vector<char> stack(64 << 10);
    stack_t alternate{};
    alternate.ss_sp = stack.data();
    alternate.ss_size = stack.size();
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF}) {
        sigaction(number, &action, nullptr);
    }
    itimerval every{{2, 0}, {2, 0}}; // of processor time: the machine may be busy
    setitimer(ITIMER_PROF, &every, nullptr);
}

void make(const AnyKernel &kernel) {
    Engine &g = e();
    g.kernel = &kernel;
    g.shadow.stop();
    g.shadow.restore();
    g.shadow.reset();
    g.names.clear();
    std::memcpy(locals.begin, locals.pristine.data(), locals.size);
    g.object = g.shadow.take(kernel.size, 64);
    for (unsigned i = 0; i < kernel.threads; ++i) {
        g.fibres[i].stack.resize(stack_bytes);
        g.fibres[i].locals_at_start.assign(locals.begin, locals.begin + locals.size);
    }
    kernel.make(g.object, kernel);
    g.shadow.start();
}

/// The last execution with each of its late reads. False at a failure.
bool explore_late(Explorer &explorer, Report &report, const Settings &settings) {
    Engine &g = e();
    const std::vector<Late::Try> tries =
        settings.is_late ? std::vector<Late::Try>{settings.late} : g.late.all();
    explorer.begin_again();
    for (const Late::Try &one : tries) {
        g.telling = settings.is_late;
        g.late.repeat(one);
        g.shadow.restore();
        execute();
        if (g.failed) {
            explorer.end_again();
            report.choices =
                explorer.choices() + '+' + std::to_string(one.load) + '.' + std::to_string(one.store);
            return false;
        }
        report.complete += g.cut ? 0 : 1;
        report.late += g.cut ? 0 : 1;
    }
    explorer.end_again();
    return true;
}

Report explore(const AnyKernel &kernel, const Options &options, const Settings &settings) {
    Engine &g = e();
    Report report;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t limit = options.executions;
    if (!settings.is_long && options.short_executions != 0) {
        limit = options.short_executions;
    }
    limit = settings.limit != 0 ? settings.limit : limit;
    Explorer explorer(options, kernel.threads, seed_of_run * 0x9e3779b97f4a7c15u);
    if (!settings.replay.empty()) {
        explorer.follow(settings.replay);
        g.telling = !settings.is_late;
        limit = 1;
    }
    g.explorer = &explorer;
    g.outcomes.clear();
    do {
        g.shadow.restore();
        g.late.record(options.late);
        execute();
        const bool failed = g.failed;
        const bool cut = g.cut;
        if (failed || (options.late && !cut && !explore_late(explorer, report, settings))) {
            report.found = true;
            report.why = g.why + (g.said.empty() ? "" : ": " + g.said);
            report.choices = failed ? explorer.choices() : report.choices;
            break;
        }
        if (cut) {
            ++report.repeats;
        } else {
            ++report.complete;
        }
        if (!explorer.advance()) {
            report.all = options.explore != Explore::bounded;
            break;
        }
    } while (report.complete + report.repeats < limit);
    g.telling = false;
    g.shadow.restore();
    g.explorer = nullptr;
    report.outcomes = g.outcomes;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

/// What is not explored to its end has been explored where the last steps differ. Others by chance besides, a quarter
/// as many.
void explore_more(const AnyKernel &kernel, Options options, Settings settings, Report &report) {
    settings.limit = (report.complete + report.repeats) / 4;
    options.explore = Explore::random;
    Report more = explore(kernel, options, settings);
    report.by_chance = more.complete;
    report.late += more.late;
    report.seconds += more.seconds;
    report.outcomes.merge(more.outcomes);
    if (more.found) {
        report.found = true;
        report.why = more.why;
        report.choices = more.choices;
    }
}

std::string joined(const std::set<std::string> &texts) {
    std::string all;
    for (const std::string &text : texts) {
        all += (all.empty() ? "" : ", ") + text;
    }
    return all;
}

void print(const AnyKernel &kernel, const Options &options, const Report &r) {
    char how[64];
    switch (options.explore) {
    case Explore::reduced:
    case Explore::all:
        std::snprintf(how, sizeof how, r.all ? "all" : "not all, and %llu by chance",
                      static_cast<unsigned long long>(r.by_chance));
        break;
    case Explore::bounded:
        std::snprintf(how, sizeof how, "%u preemptions at most", options.preemptions);
        break;
    case Explore::random:
        std::snprintf(how, sizeof how, "by chance");
        break;
    }
    const std::string late = r.late != 0 ? std::to_string(r.late) + " late reads; " : "";
    std::printf("%-36s %10llu executions (%s; %s%llu repeats cut) %.2f s\n", kernel.title,
                static_cast<unsigned long long>(r.complete), how, late.c_str(),
                static_cast<unsigned long long>(r.repeats), r.seconds);
    std::fflush(stdout);
}

/// For mutants.py: which places the kernel came through, and whether it is small.
void print_sites(const AnyKernel &kernel, const Report &report) {
    if (!sites.wanted || kernel.options.must_fail != nullptr) {
        return;
    }
    std::printf("kernel %s %s\n", kernel.title, report.all ? "all" : "part");
    for (const Site &site : sites.seen) {
        std::printf("site %s %zx %u %d\n", kernel.title, static_cast<std::size_t>(site.at),
                    static_cast<unsigned>(site.kind), site.order);
    }
}

/// CHOICES, or with a late read CHOICES+LOAD.STORE.
void follow(Settings &settings, const std::string &text) {
    const std::size_t end = text.find('+');
    settings.replay = text.substr(0, end);
    settings.is_late = end != std::string::npos;
    if (settings.is_late) {
        char *dot = nullptr;
        settings.late.load = std::strtoul(text.c_str() + end + 1, &dot, 10);
        settings.late.store = *dot == '.' ? std::strtoul(dot + 1, nullptr, 10) : 0;
    }
}

/// True if the kernel is as it should be.
bool run(const AnyKernel &kernel, const Settings &settings) {
    Options options = kernel.options;
    if (settings.by_chance != 0) {
        options.explore = Explore::random;
        options.executions = settings.by_chance;
        options.short_executions = 0;
        options.outcomes = nullptr;
        options.compare = false;
    }
    make(kernel);
    sites.seen.clear();
    Report report = explore(kernel, options, settings);
    if (!report.all && !report.found && options.explore == Explore::reduced && settings.replay.empty()) {
        explore_more(kernel, options, settings, report);
    }
    print_sites(kernel, report);
    if (options.must_fail != nullptr && settings.replay.empty()) {
        const bool as_expected = report.found && report.why.find(options.must_fail) != std::string::npos;
        if (!settings.quiet || !as_expected) {
            std::printf("%-36s %10llu executions until it fails, as it must: %s\n", kernel.title,
                        static_cast<unsigned long long>(report.complete + report.repeats + 1),
                        report.found ? report.why.c_str() : "IT DOES NOT");
        }
        return as_expected;
    }
    if (report.found) {
        std::printf("%s: %s\n    after %llu executions; --replay %s %s\n", kernel.title, report.why.c_str(),
                    static_cast<unsigned long long>(report.complete + report.repeats), report.choices.c_str(),
                    kernel.title);
        if (settings.replay.empty() && !settings.quiet) {
            Settings again = settings;
            follow(again, report.choices);
            explore(kernel, options, again);
        }
        return false;
    }
    if (options.comparison != nullptr) {
        return !settings.replay.empty() ||
               options.comparison->is_right(kernel.program, report.outcomes, report.all);
    }
    if (!settings.quiet) {
        print(kernel, options, report);
    }
    if (options.outcomes != nullptr && joined(report.outcomes) != options.outcomes) {
        std::printf("%s: outcomes are\n    %s, and should be\n    %s\n", kernel.title,
                    joined(report.outcomes).c_str(), options.outcomes);
        return false;
    }
    if (options.compare) {
        Options every = options;
        every.explore = Explore::all;
        make(kernel);
        const Report full = explore(kernel, every, settings);
        std::set<std::string> missing;
        for (const std::string &one : full.outcomes) {
            if (report.outcomes.count(one) == 0) {
                missing.insert(one);
            }
        }
        if (full.found || !missing.empty() || (full.all && full.outcomes != report.outcomes)) {
            std::printf("%s: reduction has lost %s\n", kernel.title, joined(missing).c_str());
            return false;
        }
        if (!settings.quiet) {
            std::printf("%-36s %10llu without reduction\n", "",
                        static_cast<unsigned long long>(full.complete));
        }
    }
    return true;
}

/// The title, or the beginning of several.
bool is_named(const AnyKernel &kernel, std::string_view word) {
    for (const AnyKernel *k = kernels; k != nullptr; k = k->next) {
        if (word == k->title) {
            return k == &kernel;
        }
    }
    return std::string_view(kernel.title).substr(0, word.size()) == word;
}

} // namespace

void enter(AnyKernel &kernel) {
    *end_of_kernels = &kernel;
    end_of_kernels = &kernel.next;
}
std::uint64_t seed() {
    return seed_of_run;
}

} // namespace cairn::model

using namespace cairn::model;

int main(int argc, char **argv) {
    Settings settings;
    std::vector<std::string_view> wanted;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--long") {
            settings.is_long = true;
        } else if (word == "--quiet") {
            settings.quiet = true;
        } else if (word == "--replay" && i + 1 < argc) {
            follow(settings, argv[++i]);
        } else if (word == "--sites") {
            sites.wanted = true;
        } else if (word == "--weaken" && i + 2 < argc) { // PLACE:KIND,PLACE:KIND... ORDER
            for (const char *at = argv[++i]; *at != 0;) {
                char *end = nullptr;
                const std::uintptr_t place = std::strtoull(at, &end, 16);
                sites.weakened.insert({place, static_cast<Site::Kind>(std::strtoul(end + 1, &end, 10))});
                at = *end == ',' ? end + 1 : end;
            }
            sites.weaker_order = std::atoi(argv[++i]);
        } else if (word == "--chance" && i + 1 < argc) {
            settings.by_chance = static_cast<std::uint64_t>(std::atoll(argv[++i]));
        } else if (word == "--limit" && i + 1 < argc) {
            settings.limit = static_cast<std::uint64_t>(std::atoll(argv[++i]));
        } else if (word == "--seed" && i + 1 < argc) {
            seed_of_run = static_cast<std::uint64_t>(std::atoll(argv[++i]));
        } else if (word.substr(0, 2) == "--") {
            std::fprintf(stderr,
                         "%s [--long] [--quiet] [--limit EXECUTIONS] [--chance EXECUTIONS] [--seed N] "
                         "[--replay CHOICES] [KERNEL...]\n",
                         argv[0]);
            return 2;
        } else {
            wanted.push_back(word);
        }
    }
    find_locals();
    Dl_info here{};
    dladdr(reinterpret_cast<void *>(&enter), &here);
    sites.base = reinterpret_cast<std::uintptr_t>(here.dli_fbase);
    engine = new Engine;
    catch_signals();
    bool right = true;
    const Comparison *comparison = nullptr;
    for (const AnyKernel *k = kernels; k != nullptr; k = k->next) {
        bool is_wanted = wanted.empty() && (settings.is_long || !k->options.only_long) &&
                         (settings.by_chance == 0 || k->options.must_fail == nullptr);
        for (const std::string_view word : wanted) {
            is_wanted = is_wanted || is_named(*k, word);
        }
        if (is_wanted) {
            right = run(*k, settings) && right;
            comparison = k->options.comparison;
            if (!right && settings.quiet) {
                return 1;
            }
        }
    }
    if (comparison != nullptr && settings.replay.empty() && !settings.quiet) {
        comparison->sum_up();
    }
    return right ? 0 : 1;
}
