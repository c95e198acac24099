// SPDX-License-Identifier: MIT
//
// The strengths and weaknesses that Hoard, sections 2 and 6 and its Table 7 say of each kind of allocator, seen in the
// allocators' own counts: blowup as bytes carved, false sharing as cache lines that hold blocks of several threads.
#include <allocators/mtmalloc_like.hpp>
#include <allocators/owned.hpp>
#include <allocators/private.hpp>
#include <allocators/ptmalloc_like.hpp>
#include <allocators/serial.hpp>
#include <allocators/thresholds.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace cairn::literals;
using cairn::Statistics;

/// Threads that live as long as the crew and do one thing at a time, so that every test has one order of events.
class Crew {
public:
    explicit Crew(std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            threads_.emplace_back([this, i] { work(i); });
        }
    }
    ~Crew() {
        {
            const std::lock_guard hold(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        for (std::thread &thread : threads_) {
            thread.join();
        }
    }
    Crew(const Crew &) = delete;
    Crew &operator=(const Crew &) = delete;

    /// Thread `who` does f, while all others wait.
    void on(std::size_t who, std::function<void()> f) {
        std::unique_lock hold(mutex_);
        who_ = who % threads_.size();
        task_ = std::move(f);
        changed_.notify_all();
        changed_.wait(hold, [&] { return task_ == nullptr; });
    }

    std::size_t size() const { return threads_.size(); }

private:
    void work(std::size_t me) {
        std::unique_lock hold(mutex_);
        for (;;) {
            changed_.wait(hold, [&] { return over_ || (task_ != nullptr && who_ == me); });
            if (over_) {
                return;
            }
            task_();
            task_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> task_;
    std::size_t who_ = 0;
    bool over_ = false;
    std::vector<std::thread> threads_;
};

constexpr std::size_t block_size = 16; // four to a cache line
constexpr std::size_t blocks = 1024;
constexpr std::size_t needed = blocks * block_size;

template <class H>
Statistics statistics_of(const H &heap) {
    Statistics now;
    heap.statistics(now);
    return now;
}

template <class H>
std::uint64_t carved(const H &heap) {
    return statistics_of(heap).small_resident;
}

/// The serial heap has no counts of its own: its source counts.
class CountingSource : public cairn::MmapHeap {
public:
    void *malloc(std::size_t size) {
        taken += size;
        return MmapHeap::malloc(size);
    }
    static inline std::uint64_t taken = 0;
};
struct CountedLea : cairn::LeaParameters {
    using Source = CountingSource;
};
struct CountedSerialParameters : cairn::SerialParameters {
    using OneHeap = cairn::Lea<CountedLea>;
};
using CountedSerial = cairn::Serial<CountedSerialParameters>;

std::uint64_t carved(const CountedSerial &) {
    return std::exchange(CountingSource::taken, 0);
}

template <class H>
void allocate(H &heap, std::vector<void *> &into, std::size_t count = blocks) {
    for (std::size_t i = 0; i < count; ++i) {
        into.push_back(heap.malloc(block_size));
        ASSERT_NE(into.back(), nullptr);
    }
}

template <class H>
void release(H &heap, std::vector<void *> &from) {
    for (void *p : from) {
        heap.free(p);
    }
    from.clear();
}

/// Section 2.2: a producer allocates what a consumer frees. `needed` bytes are live at most.
template <class H>
std::uint64_t after_producer_and_consumer(H &heap, int rounds) {
    Crew crew(2);
    std::vector<void *> passed;
    for (int round = 0; round < rounds; ++round) {
        crew.on(0, [&] { allocate(heap, passed); });
        crew.on(1, [&] { release(heap, passed); });
    }
    return carved(heap);
}

/// Section 6.1: each thread frees what the one before it has allocated, and `needed` bytes are live at most.
template <class H>
std::uint64_t after_round_robin(H &heap, Crew &crew) {
    std::vector<void *> passed;
    for (std::size_t turn = 0; turn < 3 * crew.size(); ++turn) {
        crew.on(turn, [&] {
            release(heap, passed);
            allocate(heap, passed);
        });
    }
    crew.on(0, [&] { release(heap, passed); });
    return carved(heap);
}
template <class H>
std::uint64_t after_round_robin(H &heap, std::size_t threads) {
    Crew crew(threads);
    return after_round_robin(heap, crew);
}

/// The threads that have blocks in each cache line.
class Lines {
public:
    void add(const void *p, std::size_t thread) {
        holders_[cairn::address_of(p) / cairn::platform::cache_line].insert(thread);
    }
    std::size_t shared() const {
        std::size_t lines = 0;
        for (const auto &[line, threads] : holders_) {
            lines += threads.size() > 1;
        }
        return lines;
    }

private:
    std::map<std::uintptr_t, std::set<std::size_t>> holders_;
};

/// Section 2.1, active: threads that allocate in turns and pass nothing on.
template <class H>
std::size_t lines_shared_actively(H &heap) {
    Crew crew(3);
    Lines lines;
    std::vector<void *> all;
    for (std::size_t turn = 0; turn < blocks; ++turn) {
        crew.on(turn, [&] {
            allocate(heap, all, 1);
            lines.add(all.back(), turn % crew.size());
        });
    }
    release(heap, all);
    return lines.shared();
}

/// Section 2.1, passive: one thread hands the pieces of its cache lines out to all, who free them, and then allocate
/// for themselves.
template <class H>
std::size_t lines_shared_passively(H &heap) {
    Crew crew(4);
    std::vector<void *> all;
    crew.on(0, [&] { allocate(heap, all); });
    for (std::size_t i = 0; i < all.size(); ++i) {
        crew.on(i, [&] { heap.free(all[i]); });
    }
    all.clear();
    Lines lines;
    for (std::size_t thread = 0; thread < crew.size(); ++thread) {
        crew.on(thread, [&] {
            for (std::size_t i = 0; i < blocks / crew.size(); ++i) {
                allocate(heap, all, 1);
                lines.add(all.back(), thread);
            }
        });
    }
    release(heap, all);
    return lines.shared();
}

/// Whatever the alignment: the address behind a mapping may be another block's.
TEST(ChunkHeaps, ABlockOfNothingHasAnAddressOfItsOwn) {
    cairn::PrivateHeaps<> chunks;
    cairn::PtmallocLike<> stretches;
    for (std::size_t wanted = 16; wanted <= std::size_t{1} << 22; wanted *= 2) {
        void *const a = chunks.memalign(wanted, 0);
        void *const b = stretches.memalign(wanted, 0);
        EXPECT_GT(chunks.getSize(a), 0u) << wanted;
        EXPECT_GT(stretches.getSize(b), 0u) << wanted;
        chunks.free(a);
        stretches.free(b);
    }
}

TEST(Private, ProducerAndConsumerTakeMemoryWithoutBound) {
    const auto heap = std::make_unique<cairn::PrivateHeaps<>>();
    EXPECT_EQ(after_producer_and_consumer(*heap, 40), 40 * needed);
}

TEST(Private, AThreadUsesWhatItFrees) {
    const auto heap = std::make_unique<cairn::PrivateHeaps<>>();
    EXPECT_EQ(after_round_robin(*heap, 6), needed);
}

TEST(Private, InducesFalseSharingPassivelyOnly) {
    const auto heap = std::make_unique<cairn::PrivateHeaps<>>();
    EXPECT_EQ(lines_shared_actively(*heap), 0u);
    const auto other = std::make_unique<cairn::PrivateHeaps<>>();
    EXPECT_GE(lines_shared_passively(*other), needed / cairn::platform::cache_line - 1);
}

/// The next thread of a slot has the former's heap.
TEST(Private, ShortLivedThreadsDoNotAddUp) {
    const auto heap = std::make_unique<cairn::PrivateHeaps<>>();
    for (int i = 0; i < 50; ++i) {
        std::thread([&] {
            std::vector<void *> mine;
            allocate(*heap, mine);
            release(*heap, mine);
        }).join();
    }
    EXPECT_EQ(carved(*heap), needed);
    EXPECT_EQ(statistics_of(*heap).heaps, 1u);
}

TEST(Owned, ProducerAndConsumerTakeNoMore) {
    const auto heap = std::make_unique<cairn::OwnedHeaps<>>();
    EXPECT_EQ(after_producer_and_consumer(*heap, 40), needed);
}

/// Section 6.1: K blocks are needed, P * K are allocated.
TEST(Owned, RoundRobinTakesAsManyTimesTheMemoryAsThereAreHeaps) {
    for (const std::size_t threads : {2u, 6u}) {
        const auto heap = std::make_unique<cairn::OwnedHeaps<>>();
        EXPECT_EQ(after_round_robin(*heap, threads), threads * needed);
    }
}

TEST(Owned, InducesNoFalseSharing) {
    const auto heap = std::make_unique<cairn::OwnedHeaps<>>();
    EXPECT_EQ(lines_shared_actively(*heap), 0u);
    const auto other = std::make_unique<cairn::OwnedHeaps<>>();
    EXPECT_EQ(lines_shared_passively(*other), 0u);
}

TEST(MtmallocLike, ProducerAndConsumerTakeNoMore) {
    const auto heap = std::make_unique<cairn::MtmallocLike<>>();
    EXPECT_EQ(after_producer_and_consumer(*heap, 40), needed);
}

/// The worst case of ownership when the heaps take turns: the blocks that stay all lie in one heap, each time another.
TEST(MtmallocLike, TakesAsManyTimesTheMemoryAsThereAreHeaps) {
    constexpr std::size_t heaps = cairn::MtmallocLikeParameters::heaps;
    const auto heap = std::make_unique<cairn::MtmallocLike<>>();
    for (std::size_t kept = 0; kept < heaps; ++kept) {
        std::vector<void *> live;
        for (std::size_t i = 0; i < heaps * blocks; ++i) {
            void *const p = heap->malloc(block_size);
            if (i % heaps == kept) {
                live.push_back(p);
            } else {
                heap->free(p);
            }
        }
        EXPECT_EQ(live.size(), blocks);
        release(*heap, live);
    }
    EXPECT_EQ(carved(*heap), heaps * needed);
    EXPECT_EQ(statistics_of(*heap).heaps, heaps);
}

TEST(MtmallocLike, InducesFalseSharingActively) {
    const auto heap = std::make_unique<cairn::MtmallocLike<>>();
    EXPECT_GE(lines_shared_actively(*heap), needed / cairn::platform::cache_line * 9 / 10);
}

constexpr std::size_t target = cairn::ThresholdParameters::target(block_size);
static_assert(blocks >= 4 * target);

/// What a heap holds above what it needs: two lists, and the rest of a batch that it has begun.
constexpr std::size_t held_back(std::size_t heaps) {
    return heaps * 3 * target * block_size;
}

TEST(Thresholds, ProducerAndConsumerTakeABoundedAmountMore) {
    const auto heap = std::make_unique<cairn::ThresholdHeaps<>>();
    EXPECT_LE(after_producer_and_consumer(*heap, 40), needed + held_back(2));
}

TEST(Thresholds, RoundRobinTakesNoMoreThanTheThresholds) {
    for (const std::size_t threads : {2u, 6u, 12u}) {
        const auto heap = std::make_unique<cairn::ThresholdHeaps<>>();
        EXPECT_LE(after_round_robin(*heap, threads), needed + held_back(threads));
    }
}

/// Section 6.1: these allocators synchronize each time the threshold amount is allocated or freed, and not more often.
TEST(Thresholds, OneBatchMovesForAsManyBlocks) {
    constexpr std::size_t rounds = 40;
    const auto heap = std::make_unique<cairn::ThresholdHeaps<>>();
    after_producer_and_consumer(*heap, rounds);
    const Statistics now = statistics_of(*heap);
    EXPECT_LE(now.superblocks_to_global, rounds * blocks / target);
    EXPECT_GE(now.superblocks_to_global, rounds * blocks / target - 2);
    EXPECT_LE(now.superblocks_from_global, now.superblocks_to_global);

    const auto other = std::make_unique<cairn::ThresholdHeaps<>>();
    std::vector<void *> mine;
    for (std::size_t round = 0; round < rounds; ++round) { // within the threshold
        allocate(*other, mine, target);
        release(*other, mine);
    }
    EXPECT_EQ(statistics_of(*other).superblocks_to_global, 0u);
    EXPECT_EQ(carved(*other), target * block_size);
}

TEST(Thresholds, InducesFalseSharingPassivelyBelowTheThreshold) {
    const auto heap = std::make_unique<cairn::ThresholdHeaps<>>();
    EXPECT_GT(lines_shared_passively(*heap), 0u);
}

/// What Lea's allocator takes for `needed` bytes: a tag with each block, and one growth.
constexpr std::size_t needed_with_tags = blocks * cairn::BoundaryTag::bytes_for(block_size) + 64_KiB;

TEST(Serial, TakesWhatIsNeededWhoeverFrees) {
    CountedSerial one;
    EXPECT_LE(after_producer_and_consumer(one, 40), needed_with_tags);
    CountedSerial other;
    EXPECT_LE(after_round_robin(other, 12), needed_with_tags);
}

TEST(Serial, InducesFalseSharingActively) {
    cairn::Serial<> heap;
    EXPECT_GE(lines_shared_actively(heap), blocks / 2 * 9 / 10); // two blocks and their tags to a line
}

/// A lock that can be told to be in use: the first `in_use` of the arenas that a thread tries are.
class BusyLock : public cairn::RankedLock<cairn::sync::Rank::owner> {
public:
    bool try_lock() {
        if (in_use > 0) {
            --in_use;
            return false;
        }
        return RankedLock::try_lock();
    }
    static inline std::size_t in_use = 0;
};
struct BusyParameters : cairn::PtmallocLikeParameters {
    using ArenaLock = BusyLock;
};
using BusyPtmalloc = cairn::PtmallocLike<BusyParameters>;

/// A first block for each thread, while the arenas of those before it are in use.
void spread(BusyPtmalloc &heap, Crew &crew) {
    for (std::size_t thread = 0; thread < crew.size(); ++thread) {
        crew.on(thread, [&] {
            BusyLock::in_use = thread;
            heap.free(heap.malloc(block_size));
        });
        EXPECT_EQ(BusyLock::in_use, 0u);
    }
}

TEST(PtmallocLike, ThreadsThatDoNotMeetShareAnArenaAndItsCacheLines) {
    const auto heap = std::make_unique<cairn::PtmallocLike<>>();
    EXPECT_GE(lines_shared_actively(*heap), blocks / 2 * 9 / 10);
    EXPECT_EQ(statistics_of(*heap).heaps, 1u);
}

TEST(PtmallocLike, AThreadStaysInTheArenaThatItHadLast) {
    const auto heap = std::make_unique<BusyPtmalloc>();
    Crew crew(3);
    spread(*heap, crew);
    EXPECT_EQ(statistics_of(*heap).heaps, 3u);
    Lines lines;
    std::vector<void *> all;
    for (std::size_t turn = 0; turn < blocks; ++turn) {
        crew.on(turn, [&] {
            allocate(*heap, all, 1);
            lines.add(all.back(), turn % crew.size());
        });
    }
    EXPECT_EQ(lines.shared(), 0u);
    release(*heap, all);
    EXPECT_EQ(statistics_of(*heap).heaps, 3u); // arenas stay, and no more were needed
    EXPECT_EQ(statistics_of(*heap).live(), 0u);
}

/// A thread that finds its arena in use takes the next, and goes on there.
TEST(PtmallocLike, TheFirstUnlockedArenaIsTaken) {
    const auto heap = std::make_unique<BusyPtmalloc>();
    Crew crew(3);
    spread(*heap, crew);
    const auto arena_of_new_block = [&](std::size_t thread) {
        void *p = nullptr;
        crew.on(thread, [&] { heap->free(p = heap->malloc(block_size)); });
        return cairn::family::Stretch::of(p).owner;
    };
    const auto *const first = arena_of_new_block(0);
    const auto *const second = arena_of_new_block(1);
    const auto *const third = arena_of_new_block(2);
    EXPECT_NE(first, second);
    EXPECT_NE(second, third);
    BusyLock::in_use = 1;
    EXPECT_EQ(arena_of_new_block(1), third);
    EXPECT_EQ(arena_of_new_block(1), third);
    BusyLock::in_use = 1;
    EXPECT_EQ(arena_of_new_block(2), first) << "the list is a ring";
    EXPECT_EQ(statistics_of(*heap).heaps, 3u);
}

TEST(PtmallocLike, ProducerAndConsumerTakeNoMore) {
    const auto heap = std::make_unique<cairn::PtmallocLike<>>();
    EXPECT_LE(after_producer_and_consumer(*heap, 40), needed_with_tags);
}

/// Section 6.1, O(P): what is freed stays in its arena, and each thread allocates from another one.
TEST(PtmallocLike, RoundRobinTakesAsManyTimesTheMemoryAsThereAreArenas) {
    constexpr std::size_t threads = 6;
    const auto heap = std::make_unique<BusyPtmalloc>();
    Crew crew(threads);
    spread(*heap, crew);
    EXPECT_GE(after_round_robin(*heap, crew), threads * needed_with_tags - threads * 64_KiB);
}

} // namespace
