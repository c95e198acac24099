// SPDX-License-Identifier: MIT
//
// The theorem of docs/bound.md, term by term, at each step of adversaries: the patterns that blow other allocators up,
// one for each constant, and one that searches by chance for the worst sequence, longer if CAIRN_SEARCH_SECONDS says
// so.
#include "bound_stage.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

using namespace cairn;
using namespace cairn::test;

namespace {

using Classes = Stage::Classes;
using Limits = Stage::Limits;
using Block = Stage::Block;
constexpr unsigned class_of(std::size_t size) {
    return Classes::class_of(size);
}

TEST(Bound, ConstantsAreThosePublished) {
    EXPECT_EQ(Limits::fraction, Published::f);
    EXPECT_EQ(Limits::in_bins, Published::in_bins);
    EXPECT_EQ(Limits::unlisted, Published::unlisted);
    EXPECT_EQ(Limits::last_taken, Published::last_taken);
    EXPECT_EQ(Limits::pending, Published::pending);
    EXPECT_EQ(Limits::in_global_heap, Published::in_global_heap);
    EXPECT_EQ(Limits::gathered, Published::gathered);
    EXPECT_EQ(Limits::uncarved, Published::uncarved);
    EXPECT_EQ(Limits::huge_page, Published::huge_page);
    EXPECT_LE(Limits::unaccounted, Published::unaccounted);
    EXPECT_DOUBLE_EQ(Limits::span_ratio, Published::span_ratio);
}

/// So many blocks of a superblock can a thread free without anybody's being told.
unsigned unaccounted_by(unsigned thread, unsigned owner, unsigned c) {
    return thread == owner ? Limits::unaccounted_by_owner(c) : Limits::unaccounted_by_others(c);
}

/// One allocates, the next frees (Hoard, section 6.1).
TEST(Bound, Ring) {
    Stage stage(5);
    for (const std::size_t size : {64u, 640u, 13312u}) {
        for (unsigned turn = 0; turn < 3 * stage.threads(); ++turn) {
            const unsigned now = turn % stage.threads();
            stage.free_all(now, (turn + stage.threads() - 1) % stage.threads(), class_of(size));
            stage.allocate(now, class_of(size), 3_MiB);
        }
        stage.clear();
    }
}

/// One allocates, another frees (Hoard, section 2.2); that one never allocates.
TEST(Bound, ProducerAndConsumer) {
    Stage stage(2);
    for (const std::size_t size : {16u, 1024u, 65536u}) {
        for (unsigned turn = 0; turn < 10; ++turn) {
            stage.allocate(0, class_of(size), 2_MiB);
            stage.free_all(1, 0, class_of(size));
        }
        stage.clear();
    }
}

/// All allocate and one frees for all, in the order of allocation.
TEST(Bound, OneFreesForAll) {
    Stage stage(5);
    const unsigned c = class_of(320);
    for (unsigned turn = 0; turn < 40; ++turn) {
        stage.allocate(1 + turn % 4, c, 512_KiB);
        if (turn > 8) {
            stage.free_all(0, 1 + (turn - 3) % 4, c);
        }
    }
    stage.clear();
}

/// Each bursts, frees all itself, and sleeps.
TEST(Bound, IdlePool) {
    Stage stage(8);
    for (unsigned t = 0; t < stage.threads(); ++t) {
        for (unsigned c = 0; c < Classes::count; c += 2) {
            stage.allocate(t, c, 128_KiB);
        }
        for (unsigned c = 0; c < Classes::count; c += 2) {
            stage.free_all(t, t, c);
        }
    }
    EXPECT_GT(stage.worst_heap(), 0);
    stage.clear();
}

/// One size after another, and a block in a hundred stays.
TEST(Bound, ClassShift) {
    Stage stage(2);
    for (const unsigned c : {3u, 11u, 25u, 40u, 60u, class_of(40_KiB)}) {
        for (unsigned t = 0; t < 2; ++t) {
            stage.allocate(t, c, 2_MiB);
        }
        for (unsigned t = 0; t < 2; ++t) {
            unsigned n = 0;
            stage.free(1 - t, t, c, [&](const Block &) { return ++n % 100 != 0; });
        }
    }
    stage.clear();
}

/// A superblock in each bin, and others free all of it while the owner sleeps.
TEST(Bound, SleeperWithAllBins) {
    Stage stage(2);
    for (unsigned c = 0; c < Classes::count; ++c) {
        stage.allocate(0, c, Limits::span_of_class(c));
    }
    for (unsigned c = 0; c < Classes::count; ++c) {
        bool first = true;
        stage.free(1, 0, c, [&](const Block &) { return !std::exchange(first, false); });
    }
    stage.allocate(1, class_of(64), 4_MiB);
    stage.clear();
}

/// While much lies free in superblocks that are just full enough to stay, bins fill as those go: what is free in all
/// stays the same.
TEST(Bound, BinsFillBehindSuperblocksThatGo) {
    Stage stage(1);
    const unsigned small = class_of(7168);
    const unsigned last = Classes::count - 1;
    stage.allocate(0, small, 300 * 9 * 7168);
    std::unordered_map<OwnerLine *, unsigned> freed;
    stage.free(0, 0, small, [&](const Block &b) { return freed[b.superblock]++ < 3; });
    for (unsigned i = 0; i < 2; ++i) {
        stage.allocate(0, last - i, 512_KiB);
        stage.free_all(0, 0, last - i);
    }
    auto next = freed.begin();
    for (unsigned i = 2; i < 8; ++i) {
        stage.allocate(0, last - i, 7 * Classes::size_of(last - i));
        for (unsigned n = 0; n < 7; ++n) {
            bool one = true;
            stage.free(0, 0, last - i, [&](const Block &) { return std::exchange(one, false); });
            for (unsigned k = 0; k < 3; ++k, ++next) {
                stage.free(0, 0, small, [&](const Block &b) { return b.superblock == next->first; });
            }
        }
    }
    stage.clear();
}

/// Superblocks that are just full enough to stay go, and leave nearly empty ones, while the heap in all is as empty as
/// a visitor left it. Between the last block and the end of each is a rest that no block may have.
TEST(Bound, NearlyEmptyOnesBehindFullOnes) {
    constexpr std::size_t superblocks = 768;
    constexpr double size = 5120;
    constexpr unsigned c = class_of(5120);
    constexpr unsigned blocks = Limits::capacity_of_class(c); // 12, and 4,096 bytes
    constexpr std::size_t all = superblocks * blocks * 5120;
    constexpr double rest = slot_size - blocks * size;
    Stage stage(2);
    stage.allocate(1, class_of(4096), superblocks * slot_size); // the rests are touched too
    stage.free_all(1, 1, class_of(4096));
    stage.allocate(0, c, all);
    std::unordered_map<OwnerLine *, unsigned> freed;
    stage.free(1, 0, c, [&](const Block &b) { return freed[b.superblock]++ < blocks / 6; });
    stage.allocate(1, c, 8_MiB); // grows: who owns much is visited
    stage.free_all(1, 1, c);
    double more = 0; // overdraft than then, if rests counted
    for (const auto &one : freed) {
        const OwnerLine *const s = one.first;
        const unsigned stay = more < rest ? 1 : 2;
        more += stay == 1 ? blocks * size - 1.2 * size : -rest;
        unsigned n = 0;
        stage.free(0, 0, c, [&](const Block &b) { return b.superblock == s && n++ >= stay; });
        if (stay != 1) { // by the other, so that the owner hears of it
            stage.free(1, 0, c, [&](const Block &b) { return b.superblock == s; });
        }
    }
    stage.allocate(1, c, all + 16_MiB);
    std::printf("%.2f of what a heap may have\n", stage.worst_heap());
    stage.clear();
}

/// Below the floor nobody economises, and each in turn takes its part of it, frees most of that and sleeps. What grows
/// beyond it visits all.
TEST(Bound, SmallProcess) {
    for (const unsigned threads : {1u, 2u, 4u, 5u, 7u, 8u, 16u, 21u, 22u, 64u}) {
        for (const std::size_t size : {64u, 8192u}) {
            Stage stage(threads);
            stage.set_small_process(24_MiB);
            const unsigned c = class_of(size);
            const std::size_t floor =
                std::min<std::size_t>(24_MiB, Stage::Discipline::small_process(threads));
            for (unsigned t = 0; t < threads; ++t) {
                stage.allocate(t, c, floor / threads);
                unsigned n = 0;
                stage.free(t, t, c, [&](const Block &) { return ++n % 64 != 0; });
            }
            const double before = stage.worst_memory();
            stage.allocate(0, c, floor + 4_MiB);
            EXPECT_LT(before, 1) << threads;
            std::printf("%u heaps, blocks of %zu: %.2f of the bound below the floor, %.2f above\n", threads,
                        size, before, stage.worst_memory());
            stage.clear();
            stage.set_small_process(0);
        }
    }
}

/// Threads that end leave superblocks of which a page is cut, all of it live: nobody else's free memory, but what the
/// next one cuts. More of them than a heap looks through for its own.
TEST(Bound, WhatIsNotCutYetWaitsForWhoComesNext) {
    Stage stage(40);
    for (const std::size_t size : {48u, 64u, 1360u}) { // their blocks fill cache lines, or do not
        const unsigned c = class_of(size);
        for (unsigned turn = 0; turn < 12; ++turn) {
            for (unsigned t = 0; t < stage.threads(); ++t) {
                stage.allocate(t, c, 4096 / size * size);
            }
            for (unsigned t = 0; t < stage.threads(); ++t) {
                stage.succeed(t);
            }
        }
        EXPECT_GT(stage.most_uncarved(), 0U);
        stage.clear();
    }
}

/// As much as possible is free of each superblock without anybody having been told.
TEST(Bound, NobodyIsTold) {
    Stage stage(6);
    const unsigned c = class_of(64);
    for (unsigned t = 0; t < stage.threads(); ++t) {
        stage.allocate(t, c, static_cast<std::size_t>(4e6 - stage.live()));
        for (const unsigned who : {t, (t + 1) % stage.threads()}) {
            std::unordered_map<OwnerLine *, unsigned> freed;
            const unsigned most = unaccounted_by(who, t, c);
            stage.free(who, t, c, [&](const Block &b) { return freed[b.superblock]++ < most; });
        }
    }
    EXPECT_GT(stage.count().unaccounted, 0.2 * stage.count().extents);
    stage.clear();
}

// ---- the search

/// One thing that a thread does.
struct Step {
    unsigned thread, from, size_class;
    /// 0, 1: allocate; 2: free all; 3: of each superblock as much as stays unaccounted; 4: a part; 5: end; 6: free all
    /// but one of each.
    unsigned what;
    double amount; ///< a part
};
using Sequence = std::vector<Step>;

class Search {
public:
    Search(std::uint64_t seed, unsigned threads) : random_(seed), stage_(threads) {}

    /// Plays it; what it used up of a promise at the worst moment.
    double play(const Sequence &sequence) {
        for (const Step &step : sequence) {
            play(step);
        }
        const double worst = worth_ == 0   ? stage_.worst_memory()
                             : worth_ == 1 ? stage_.worst_heap()
                                           : stage_.worst_global();
        memory_ = std::max(memory_, stage_.worst_memory());
        heap_ = std::max(heap_, stage_.worst_heap());
        pending_ = std::max(pending_, stage_.worst_pending());
        global_ = std::max(global_, stage_.worst_global());
        stage_.clear();
        return worst;
    }

    /// Climbs from a random sequence while that leads anywhere. What is a part of all that a heap has shows only where
    /// that is much.
    void climb() {
        worth_ = random_() % 3;
        const bool much = has_time_ && random_() % 4 == 0;
        budget_ = much ? 48_MiB : 3_MiB;
        classes_.clear();
        for (std::uint64_t n = worth_ == 0 ? 1 : 1 + random_() % 6; n > 0; --n) {
            const unsigned first = much ? class_of(1_KiB) : 0; // many small ones take too long
            classes_.push_back(first + static_cast<unsigned>(random_() % (Classes::count - first)));
        }
        Sequence best(30);
        for (Step &step : best) {
            step = any();
        }
        double most = play(best);
        for (unsigned failures = 0; failures < 12 && !over();) {
            Sequence next = best;
            for (std::uint64_t n = 1 + random_() % 3; n > 0; --n) {
                next[random_() % next.size()] = any();
            }
            const double now = play(next);
            failures = now > most ? 0 : failures + 1;
            if (now > most) {
                most = now;
                best = next;
            }
        }
        ++climbs_;
    }

    void run(double seconds) {
        has_time_ = seconds >= 10;
        end_ = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
        do {
            climb();
        } while (!over() && !testing::Test::HasFailure());
        std::printf(
            "%u climbs, %zu looks; at the worst of a promise: memory %.3f, a heap %.3f, pending %.3f, "
            "global heap %.3f\n",
            climbs_, stage_.looks(), memory_, heap_, pending_, global_);
    }

private:
    using Clock = std::chrono::steady_clock;

    bool over() const { return Clock::now() > end_; }

    Step any() {
        const auto below = [&](std::size_t n) { return static_cast<unsigned>(random_() % n); };
        return {below(stage_.threads()), below(stage_.threads()), classes_[below(classes_.size())], below(7),
                static_cast<double>(random_() % 1000) / 1000};
    }

    void play(const Step &step) {
        std::unordered_map<OwnerLine *, unsigned> seen;
        const unsigned c = step.size_class;
        switch (step.what) {
        case 0:
        case 1:
            stage_.allocate(step.thread, c,
                            static_cast<std::size_t>(std::max(0.0, (budget_ - stage_.live()) *
                                                                       (step.what == 0 ? 1 : step.amount))));
            break;
        case 2:
            stage_.free_all(step.thread, step.from, c);
            break;
        case 3:
            stage_.free(step.thread, step.from, c,
                        [&, most = unaccounted_by(step.thread, step.from, c)](const Block &b) {
                            return seen[b.superblock]++ < most;
                        });
            break;
        case 4:
            stage_.free(step.thread, step.from, c, [&](const Block &b) {
                return seen[b.superblock]++ < step.amount * Limits::capacity_of_class(c);
            });
            break;
        case 5:
            stage_.succeed(step.thread);
            break;
        default:
            stage_.free(step.thread, step.from, c, [&](const Block &b) { return seen[b.superblock]++ != 0; });
        }
    }

    std::mt19937_64 random_;
    Stage stage_;
    std::uint64_t worth_ = 0;
    double budget_ = 0;
    bool has_time_ = false; ///< for heaps of much
    std::vector<unsigned> classes_;
    Clock::time_point end_;
    unsigned climbs_ = 0;
    double memory_ = 0, heap_ = 0, pending_ = 0, global_ = 0;
};

TEST(Bound, SearchForTheWorst) {
    const char *const seconds = std::getenv("CAIRN_SEARCH_SECONDS");
    const char *const seed = std::getenv("CAIRN_SEARCH_SEED");
    Search search(seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1, 4);
    search.run(seconds != nullptr ? std::strtod(seconds, nullptr) : 2);
}

} // namespace
