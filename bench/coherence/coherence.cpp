// SPDX-License-Identifier: MIT
//
// Counts what an allocator makes caches send to each other, per pair of malloc and free, with P threads each on a
// processor of its own. docs/coherence.md says what is counted and how to read it. The counts of two runs are the same.
#include "runtime.hpp"
#include "sharing.hpp"
#include "subject.hpp"

#include "../common/options.hpp"
#include "../common/random.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/personality.h>
#include <unistd.h>

namespace {

using namespace cairn::coherence;
using cairn::bench::Random;

struct Block {
    void *p = nullptr;
    std::size_t size = 0;
};

Sharing sharing;
std::uint64_t pairs = 0;

Block take(unsigned thread, std::size_t size) {
    const Block block{subject_malloc(size), size};
    if (block.p == nullptr) {
        std::fprintf(stderr, "%s: out of memory\n", subject_name());
        std::exit(1);
    }
    sharing.handed_out(thread, block.p, size);
    program_writes(block.p, size);
    std::memset(block.p, 1, size);
    return block;
}

/// The program looks at a block before it frees it.
void drop(Block &block) {
    if (block.p != nullptr) {
        program_reads(block.p, block.size);
        sharing.freed(block.p, block.size);
        subject_free(block.p);
        block.p = nullptr;
        ++pairs;
    }
}

/// What a thread does in one step, however many blocks that are.
struct Worker {
    unsigned thread;
    unsigned threads;
    std::size_t size;
    std::size_t batch;
    std::size_t low; ///< sizes of larson's blocks
    std::size_t high;
    std::uint64_t replacements; ///< of each block, before all are passed on (larson)
    Random random;
    std::vector<Block> held = {};
    std::uint64_t replaced = 0;
    bool started = false;
};

/// Blocks on their way to a thread.
std::vector<std::deque<Block>> mail;

void pass_on(unsigned to, Block block) {
    sharing.passed_on(block.p, block.size);
    mail[to].push_back(block);
}

std::size_t any_size(Worker &w) {
    return w.random.log_between(8, 2047);
}

/// malloc and free of a batch, nothing passes between threads.
void local(Worker &w) {
    for (std::size_t i = 0; i < w.batch; ++i) {
        w.held[i] = take(w.thread, w.size);
    }
    for (std::size_t i = 0; i < w.batch; ++i) {
        drop(w.held[i]);
    }
}

/// Each thread frees what its neighbour allocated.
void remote(Worker &w) {
    for (std::size_t i = 0; i < w.batch; ++i) {
        pass_on((w.thread + 1) % w.threads, take(w.thread, w.size));
    }
    for (std::size_t i = 0; i < w.batch && !mail[w.thread].empty(); ++i) {
        drop(mail[w.thread].front());
        mail[w.thread].pop_front();
    }
}

/// Thread 0 allocates for all others, which free.
void producer(Worker &w) {
    if (w.thread == 0) {
        for (std::size_t i = 0; i < w.batch * (w.threads - 1); ++i) {
            pass_on(1 + static_cast<unsigned>(i % (w.threads - 1)), take(0, w.size));
        }
        return;
    }
    while (!mail[w.thread].empty()) {
        drop(mail[w.thread].front());
        mail[w.thread].pop_front();
    }
}

/// Hoard's active-false: each thread has one block, and the others have theirs at the same time.
void active(Worker &w) {
    drop(w.held[0]);
    w.held[0] = take(w.thread, w.size);
}

/// Hoard's passive-false: thread 0 has a block for each, which they free before they take one of their own.
void passive(Worker &w) {
    drop(w.held[0]);
    if (w.thread == 0) {
        for (unsigned to = 1; to < w.threads; ++to) {
            pass_on(to, take(0, w.size));
        }
    }
    while (!mail[w.thread].empty()) {
        drop(mail[w.thread].front());
        mail[w.thread].pop_front();
    }
    w.held[0] = take(w.thread, w.size);
}

/// Blocks of all sizes that live long and short, nothing passes between threads.
void mixed(Worker &w) {
    for (std::size_t i = 0; i < w.batch; ++i) {
        Block &block = w.held[w.random.below(w.held.size())];
        drop(block);
        block = take(w.thread, any_size(w));
    }
}

/// The same, and one block in fifty is another thread's: LKmalloc's 2 %.
void bleeding(Worker &w) {
    for (std::size_t i = 0; i < w.batch; ++i) {
        Block &block = w.held[w.random.below(w.held.size())];
        drop(block);
        block = take(w.thread, any_size(w));
        if (w.random.below(50) == 0) {
            pass_on(static_cast<unsigned>(w.random.below(w.threads)), block);
            block.p = nullptr;
            if (!mail[w.thread].empty()) {
                block = mail[w.thread].front();
                mail[w.thread].pop_front();
            }
        }
    }
}

/// Larson's server: blocks are replaced at random; then all pass to the next thread, which frees them in its
/// replacements.
void larson(Worker &w) {
    for (Block &block : w.held) {
        if (!w.started) {
            block = take(w.thread, w.random.between(w.low, w.high));
        } else if (block.p == nullptr && !mail[w.thread].empty()) {
            block = mail[w.thread].front();
            mail[w.thread].pop_front();
        }
    }
    w.started = true;
    if (w.held.back().p == nullptr) {
        return; // the thread before has not come so far
    }
    for (std::size_t i = 0; i < w.batch; ++i) {
        Block &block = w.held[w.random.below(w.held.size())];
        drop(block);
        block = take(w.thread, w.random.between(w.low, w.high));
    }
    w.replaced += w.batch;
    if (w.replaced >= w.replacements * w.held.size()) {
        w.replaced = 0;
        for (Block &block : w.held) {
            pass_on((w.thread + 1) % w.threads, block);
            block.p = nullptr;
        }
    }
}

struct Workload {
    const char *name;
    void (*step)(Worker &);
    unsigned least_threads;
};
constexpr Workload workloads[] = {
    {"local", local, 1},       {"remote", remote, 2}, {"producer", producer, 2}, {"mixed", mixed, 1},
    {"bleeding", bleeding, 2}, {"larson", larson, 2}, {"active", active, 1},     {"passive", passive, 2},
};

const Workload *find(const char *name) {
    for (const Workload &workload : workloads) {
        if (std::strcmp(workload.name, name) == 0) {
            return &workload;
        }
    }
    return nullptr;
}

/// Addresses decide which heap a hash of a thread's id finds: they have to be the same in every run. And an allocator
/// that was loaded with the program may have asked for the number of processors before main.
void start_again_the_same(char **words, unsigned threads) {
    if (std::getenv(processors_variable) == nullptr) {
        setenv(processors_variable, std::to_string(threads).c_str(), 1);
        const int now = personality(0xffffffff);
        personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
        execv("/proc/self/exe", words);
    }
}

/// What the allocator did where, as JSON: the module and the offset in it, for addr2line.
void print_places(const std::unordered_map<const void *, Traffic> &places, double count) {
    std::vector<std::pair<const void *, Traffic>> sorted(places.begin(), places.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    std::printf(",\"places\":[");
    const char *separator = "";
    for (const auto &[place, traffic] : sorted) {
        Dl_info module{};
        dladdr(place, &module);
        std::printf("%s{\"module\":\"%s\",\"offset\":%llu,\"reads\":%.4f,\"writes\":%.4f,\"upgrades\":%.4f,"
                    "\"transfers\":%.4f,\"rmws\":%.4f}",
                    separator, module.dli_fname == nullptr ? "?" : module.dli_fname,
                    static_cast<unsigned long long>(static_cast<const char *>(place) -
                                                    static_cast<const char *>(module.dli_fbase)),
                    static_cast<double>(traffic.reads) / count, static_cast<double>(traffic.writes) / count,
                    static_cast<double>(traffic.upgrades) / count,
                    static_cast<double>(traffic.transfers()) / count,
                    static_cast<double>(traffic.rmws) / count);
        separator = ",";
    }
    std::printf("]");
}

} // namespace

int main(int count, char **words) {
    cairn::bench::Options options(count, words, "counts the coherence traffic of an allocator");
    const char *const name = options.word(
        "workload", "local", "local, remote, producer, mixed, bleeding, larson, active or passive");
    Schedule schedule;
    schedule.threads = static_cast<unsigned>(options.some("threads", 2, "at most 256"));
    const std::uint64_t size = options.number("size", 64, "of a block, in bytes");
    const std::uint64_t batch = options.number("batch", 1, "blocks that a thread takes at a time");
    const std::uint64_t held =
        options.number("held", 256, "blocks that a thread holds (mixed, bleeding, larson)");
    const std::uint64_t low = options.number("low", 10, "bytes of the smallest block (larson)");
    const std::uint64_t high = options.number("high", 100, "bytes of the largest block (larson)");
    const std::uint64_t replacements =
        options.number("replacements", 50, "of a block, before it passes on (larson)");
    const std::uint64_t steps = options.number("steps", 200, "of each thread, counted");
    const std::uint64_t warmup = options.number("warmup", 200, "steps of each thread before");
    schedule.seed = options.number("seed", 0, "where threads are stopped inside the allocator; 0: nowhere");
    const bool places = options.number("places", 0, "1: also what each place in the code did") != 0;
    options.finish();
    const Workload *const workload = find(name);
    if (workload == nullptr) {
        options.refuse("workload", name);
    }
    if (schedule.threads < workload->least_threads || schedule.threads > most_caches) {
        std::fprintf(stderr, "coherence: %s needs %u to %u threads\n", name, workload->least_threads,
                     most_caches);
        return 2;
    }
    if (size == 0 || low == 0 || batch == 0 || held == 0) {
        std::fprintf(stderr, "coherence: sizes and numbers of blocks are at least 1\n");
        return 2;
    }
    if (high < low) {
        std::fprintf(stderr, "coherence: --high is less than --low\n");
        return 2;
    }

    start_again_the_same(words, schedule.threads);

    mail.resize(schedule.threads);
    Traffic before;
    Traffic program_before;
    std::uint64_t pairs_before = 0;
    Traffic during;
    Traffic program_during;
    std::unordered_map<const void *, Traffic> places_during;
    std::uint64_t pairs_during = 0;
    run(schedule, [&](unsigned thread) {
        Worker worker{thread, schedule.threads, size, batch, low, high, replacements, Random(thread + 1)};
        worker.held.resize(held < batch ? batch : held);
        for (std::uint64_t i = 0; i < warmup; ++i) {
            workload->step(worker);
            turn();
        }
        meet();
        if (thread == 0) {
            before = allocator_traffic();
            program_before = program_traffic();
            if (places) {
                want_places();
            }
            pairs_before = pairs;
        }
        meet();
        for (std::uint64_t i = 0; i < steps; ++i) {
            workload->step(worker);
            turn();
        }
        meet();
        if (thread == 0) {
            during = allocator_traffic() - before;
            program_during = program_traffic() - program_before;
            places_during = allocator_places();
            pairs_during = pairs - pairs_before;
        }
        meet();
        for (Block &block : worker.held) {
            drop(block);
        }
        while (!mail[thread].empty()) {
            drop(mail[thread].front());
            mail[thread].pop_front();
        }
        subject_thread_ends();
    });

    const double n = pairs_during == 0 ? 1 : static_cast<double>(pairs_during);
    std::printf(
        "{\"allocator\":\"%s\",\"workload\":\"%s\",\"threads\":%u,\"size\":%llu,\"batch\":%llu,\"seed\":%llu,"
        "\"pairs\":%llu,\"reads\":%.4f,\"writes\":%.4f,\"upgrades\":%.4f,\"transfers\":%.4f,\"rmws\":%.4f,"
        "\"cold\":%.4f,\"program\":%.4f,\"blocks\":%llu,\"falsely_shared\":%llu",
        subject_name(), name, schedule.threads, static_cast<unsigned long long>(size),
        static_cast<unsigned long long>(batch), static_cast<unsigned long long>(schedule.seed),
        static_cast<unsigned long long>(pairs_during), static_cast<double>(during.reads) / n,
        static_cast<double>(during.writes) / n, static_cast<double>(during.upgrades) / n,
        static_cast<double>(during.transfers()) / n, static_cast<double>(during.rmws) / n,
        static_cast<double>(during.cold + program_during.cold) / n,
        static_cast<double>(program_during.transfers()) / n,
        static_cast<unsigned long long>(sharing.blocks()), static_cast<unsigned long long>(sharing.shared()));
    if (places) {
        print_places(places_during, n);
    }
    std::printf("}\n");
    return 0;
}
