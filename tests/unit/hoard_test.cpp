// SPDX-License-Identifier: MIT
//
// Hoard's discipline: size classes, fullness groups, the emptiness threshold, Theorem 1 under adversaries, large
// objects, and a fork in the middle of frees.
#include <allocators/hoard.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <sys/wait.h>

using namespace cairn;

namespace {

struct TwoProcessors : HoardParameters {
    static unsigned processors() { return 2; }
};
struct OneHeap : HoardParameters {
    static constexpr unsigned heaps_per_processor = 1;
    static unsigned processors() { return 1; }
};
/// Enough heaps that each of a few threads has one to itself, most often.
struct ManyHeaps : HoardParameters {
    static unsigned processors() { return 32; }
};

/// K = 0, as in the document's Figure 1.
template <class P>
struct NoSlack : P {
    static constexpr std::size_t slack = 0;
};

using Classes = HoardDesign<HoardParameters>::Classes;
constexpr std::size_t superblock_size = HoardParameters::superblock;
constexpr std::size_t slack = HoardParameters::slack;

static_assert(Classes::size_of(0) == 8 && Classes::size_of(1) == 16 &&
              Classes::largest == superblock_size / 2);
static_assert(Classes::count == 30, "b = 1.2 in multiples of 16 up to S/2");
static_assert(Classes::class_of(0) == 0 && Classes::class_of(9) == 1 &&
              Classes::class_of(superblock_size / 2) == 29);
static_assert(PowerSizeClasses<32_KiB, 2, 1>::count == 13, "8 to 32768, doubled each time");
static_assert(PowerSizeClasses<16, 2, 1>::count == 2);

/// The state of heap i of a Hoard.
template <class H>
HoardAccount account(H &hoard, unsigned i) {
    HoardAccount found;
    unsigned at = 0;
    hoard.for_each_heap([&](auto &heap) { found = at++ == i ? heap.account() : found; });
    return found;
}

struct Totals {
    HoardAccount all;
    std::size_t free_in_heaps = 0; ///< a - u of heaps 1 to 2P
    std::size_t heaps_used = 0;
};

template <class H>
Totals totals(H &hoard) {
    Totals sum;
    bool global = true;
    hoard.for_each_heap([&](auto &heap) {
        EXPECT_TRUE(heap.check());
        const HoardAccount one = heap.account();
        sum.all.u += one.u;
        sum.all.a += one.a;
        sum.all.superblocks += one.superblocks;
        if (!global) {
            sum.free_in_heaps += one.a - one.u;
            sum.heaps_used += one.superblocks != 0;
        }
        global = false;
    });
    return sum;
}

template <class P>
std::size_t capacity(std::size_t size) {
    return HoardDesign<P>::Superblock::capacity_for(size);
}

/// f in a thread of its own, so that each call may be another heap's.
template <class F>
void elsewhere(F f) {
    std::thread(f).join();
}

/// What of S is no block: b = 1.2 bounds the waste in a block, and the header stands in S (docs/family.md).
TEST(Hoard, TheLargestClassesWasteMoreOfASuperblockThanTheirHeader) {
    for (unsigned c = 0; c < Classes::count; ++c) {
        const std::size_t size = Classes::size_of(c);
        const double over = static_cast<double>(superblock_size) /
                            static_cast<double>(capacity<HoardParameters>(size) * size);
        const double most = size <= 704 ? 1.065 : size == 4096 ? 2 : size == 2896 ? 1.415 : 1.22;
        EXPECT_LE(over, most) << size;
        EXPECT_GT(over, size == 4096 ? 1.99 : size == 2896 ? 1.41 : 1) << size;
    }
}

TEST(Hoard, FillsASuperblockBeforeTheNext) {
    Hoard<OneHeap> hoard;
    const std::size_t blocks = capacity<OneHeap>(96);
    std::vector<char *> live;
    for (std::size_t i = 0; i < blocks; ++i) {
        live.push_back(static_cast<char *>(hoard.malloc(90)));
        EXPECT_EQ(live[i], live[0] + i * 96) << "carved in order";
    }
    EXPECT_EQ(account(hoard, 1).superblocks, 1u);
    EXPECT_EQ(account(hoard, 1).u, account(hoard, 1).a) << "a full superblock is all in use";
    void *const next = hoard.malloc(96);
    EXPECT_EQ(account(hoard, 1).superblocks, 2u);
    // LIFO, and the fuller superblock first.
    hoard.free(live[5]);
    hoard.free(live[3]);
    EXPECT_EQ(hoard.malloc(96), live[3]);
    EXPECT_EQ(hoard.malloc(96), live[5]);
    hoard.free(next);
    for (char *p : live) {
        hoard.free(p);
    }
    EXPECT_EQ(account(hoard, 1).u, 0u);
    EXPECT_EQ(account(hoard, 1).superblocks, 2u) << "K superblocks may stay";
}

TEST(Hoard, MovesTheSuperblockThatWasFreedIntoToTheFront) {
    Hoard<OneHeap> hoard;
    const std::size_t blocks = capacity<OneHeap>(64);
    std::array<std::vector<void *>, 3> in;
    for (auto &superblock : in) {
        for (std::size_t i = 0; i < blocks; ++i) {
            superblock.push_back(hoard.malloc(64));
        }
    }
    EXPECT_EQ(account(hoard, 1).superblocks, 3u);
    for (const std::size_t order :
         {0u, 1u, 2u, 0u}) { // all are nearly full, the first one was freed into last
        hoard.free(in[order].back());
        in[order].pop_back();
    }
    const auto next_is_in = [&](std::size_t i) {
        return align_down(address_of(hoard.malloc(64)), superblock_size) ==
               align_down(address_of(in[i][0]), superblock_size);
    };
    EXPECT_TRUE(next_is_in(0));
    EXPECT_TRUE(next_is_in(0));
    EXPECT_TRUE(next_is_in(2));
    EXPECT_TRUE(next_is_in(1));
}

/// Section 3.1: more than f free and more than K superblocks' worth, then one that is f empty moves; not before.
TEST(Hoard, CrossingTheThresholdMovesASuperblockToTheGlobalHeap) {
    Hoard<OneHeap> hoard;
    const std::size_t room = capacity<OneHeap>(64) * 64;
    std::vector<void *> live;
    for (std::size_t i = 0; i < 20 * capacity<OneHeap>(64); ++i) {
        live.push_back(hoard.malloc(64));
    }
    EXPECT_EQ(account(hoard, 1).superblocks, 20u);
    while (!live.empty()) {
        const HoardAccount before = account(hoard, 1);
        hoard.free(live.back());
        live.pop_back();
        const HoardAccount after = account(hoard, 1);
        const std::size_t u = before.u - 64;
        const bool crossed = u + slack * superblock_size < before.a && 4 * u < 3 * before.a;
        ASSERT_EQ(after.superblocks, before.superblocks - (crossed ? 1 : 0)) << u << " of " << before.a;
        ASSERT_EQ(after.a, after.superblocks * room);
        ASSERT_EQ(account(hoard, 0).superblocks, 20 - after.superblocks);
        ASSERT_EQ(account(hoard, 0).u, 0u) << "the emptiest moves first, and here empty ones do";
    }
    EXPECT_EQ(account(hoard, 1).superblocks, slack) << "what K S of free memory allows";
    // What moved is used again: from the heap's own superblocks, then from heap 0.
    for (std::size_t i = 0; i < 20 * capacity<OneHeap>(64); ++i) {
        live.push_back(hoard.malloc(64));
    }
    EXPECT_EQ(account(hoard, 0).superblocks, 0u);
    EXPECT_EQ(totals(hoard).all.superblocks, 20u);
}

/// The superblock that a thread is using is the last to go, whatever its class and however empty the heap.
TEST(Hoard, KeepsTheSuperblockThatIsInUse) {
    for (unsigned in_use = 0; in_use < Classes::count; ++in_use) {
        Hoard<OneHeap> hoard;
        std::vector<void *> all;
        for (unsigned c = 0; c < Classes::count; ++c) {
            all.push_back(hoard.malloc(Classes::size_of(c)));
        }
        for (void *p : all) {
            hoard.free(p);
        }
        Statistics before;
        hoard.statistics(before);
        for (int i = 0; i < 100; ++i) {
            hoard.free(hoard.malloc(Classes::size_of(in_use)));
        }
        Statistics after;
        hoard.statistics(after);
        EXPECT_LE(after.superblocks_to_global, before.superblocks_to_global + 2) << Classes::size_of(in_use);
    }
}

TEST(Hoard, RecyclesEmptySuperblocksForAnyClass) {
    Hoard<OneHeap> hoard;
    std::size_t superblocks = 0;
    for (unsigned c = 0; c < Classes::count; ++c) {
        std::vector<void *> live;
        for (std::size_t bytes = 0; bytes < 100_KiB; bytes += Classes::size_of(c)) {
            live.push_back(hoard.malloc(Classes::size_of(c)));
        }
        for (void *p : live) {
            hoard.free(p);
        }
        Statistics now;
        hoard.statistics(now);
        EXPECT_EQ(now.small_live, 0u);
        superblocks =
            std::max<std::size_t>(superblocks, ceil_div(live.size(), capacity<OneHeap>(Classes::size_of(c))));
        EXPECT_EQ(now.superblocks, superblocks) << Classes::size_of(c);
        EXPECT_EQ(now.mapped, 1_MiB) << "one mapping for all of them";
    }
}

TEST(Hoard, AnotherThreadsFreeGoesToTheOwner) {
    Hoard<ManyHeaps> hoard;
    std::vector<void *> live(1000);
    std::thread([&] {
        for (void *&p : live) {
            p = hoard.malloc(32);
        }
    }).join();
    const HoardAccount before = totals(hoard).all;
    EXPECT_EQ(before.u, 32'000u);
    std::jthread([&] {
        for (std::size_t i = 0; i < 500; ++i) {
            hoard.free(live[i]);
        }
    }).join();
    const Totals after = totals(hoard);
    EXPECT_EQ(after.all.u, 16'000u);
    EXPECT_EQ(after.heaps_used, 1u) << "nothing came to the heap of the thread that freed";
    for (std::size_t i = 500; i < live.size(); ++i) {
        hoard.free(live[i]);
    }
}

/// The heap of the threads, but for heap `other`, that has superblocks; 0: none.
template <class H>
unsigned heap_in_use(H &hoard, unsigned other = 0) {
    unsigned found = 0;
    for (unsigned i = 1; i <= HoardDesign<ManyHeaps>::heaps(); ++i) {
        found = i != other && account(hoard, i).superblocks != 0 ? i : found;
    }
    return found;
}

struct AQuarterFull : NoSlack<ManyHeaps> {
    static constexpr std::size_t empty_numerator = 3;
};

/// Figure 1 (section 3.2), panel by panel. Its heaps keep what they have while they are a quarter full, which by the
/// rule of section 3.1 is f = 3/4. False: both threads have one heap.
bool play_figure_1() {
    Hoard<AQuarterFull> hoard;
    const std::size_t blocks = capacity<AQuarterFull>(64);
    std::vector<void *> y(blocks);
    for (void *&p : y) { // thread 2 is this one
        p = hoard.malloc(64);
    }
    const unsigned heap_2 = heap_in_use(hoard);
    unsigned heap_1 = 0;
    std::vector<void *> x;
    const auto in_heap_1 = [&] { return account(hoard, heap_1).superblocks; };
    const auto free_last = [&] {
        hoard.free(x.back());
        x.pop_back();
    };
    elsewhere([&] {
        x.push_back(hoard.malloc(64));
        heap_1 = heap_in_use(hoard, heap_2);
        if (heap_1 == 0) {
            return;
        }
        while (x.size() <= blocks) {
            x.push_back(hoard.malloc(64));
        }
        while (x.size() > ceil_div(blocks, std::size_t{2})) { // the first one empties the second superblock
            free_last();
        }
        EXPECT_EQ(in_heap_1(), 2u);
        x.push_back(hoard.malloc(64)); // top left: x9 = malloc(s), from the fuller superblock
        EXPECT_EQ(align_down(address_of(x.back()), superblock_size),
                  align_down(address_of(x[0]), superblock_size));
        hoard.free(y[3]); // top right: free(y4)
    });
    if (heap_1 == 0) {
        return false;
    }
    EXPECT_EQ(account(hoard, heap_2).superblocks, 1u);
    EXPECT_EQ(account(hoard, heap_2).u, (blocks - 1) * 64);
    hoard.free(x[1]); // bottom left: thread 2's free(x2)
    EXPECT_EQ(in_heap_1(), 2u);
    elsewhere(free_last); // bottom right: free(x9)
    EXPECT_EQ(in_heap_1(), 1u);
    EXPECT_EQ(account(hoard, 0).superblocks, 1u);
    EXPECT_EQ(account(hoard, 0).u, 0u) << "the empty one";
    return true;
}

/// Threads that start one after the other have the same stack, often, and so the same heap. So whoever tries again is
/// another thread, while the one before it still has its stack.
void play_figure_1_with_two_heaps() {
    if (!play_figure_1()) {
        elsewhere(play_figure_1_with_two_heaps);
    }
}

TEST(Hoard, PlaysFigure1) {
    play_figure_1_with_two_heaps();
}

/// With f = 1/4, as the figure's text has it, heap 1 can not have its empty superblock: it would be more than f empty.
TEST(Hoard, HasNoEmptySuperblockWithoutSlack) {
    Hoard<NoSlack<OneHeap>> hoard;
    std::vector<void *> x;
    for (std::size_t i = 0; i <= capacity<OneHeap>(64); ++i) {
        x.push_back(hoard.malloc(64));
    }
    EXPECT_EQ(account(hoard, 1).superblocks, 2u);
    hoard.free(x.back());
    EXPECT_EQ(account(hoard, 1).superblocks, 1u);
    EXPECT_EQ(account(hoard, 0).superblocks, 1u);
}

/// Steps of an adversary in one thread or several, with what Theorem 1 says checked at quiet moments.
template <class P>
class Adversary {
public:
    explicit Adversary(std::size_t classes) : classes_(classes) {}

    void *malloc(std::size_t size) {
        const std::size_t rounded = Classes::size_of(Classes::class_of(size));
        const std::size_t now = live_bytes_.fetch_add(rounded) + rounded;
        std::size_t seen = peak_.load();
        while (seen < now && !peak_.compare_exchange_weak(seen, now)) {
        }
        return hoard.malloc(size);
    }
    void free(void *p) {
        const std::size_t size = hoard.getSize(p);
        hoard.free(p);
        live_bytes_ -= size;
    }

    void check() {
        const Totals now = totals(hoard);
        EXPECT_EQ(now.all.u, live_bytes_);
        heaps_ = std::max(heaps_, now.heaps_used);
        EXPECT_LE(now.free_in_heaps, Design::most_free(live_bytes_, heaps_, classes_));
        // Theorem 1: for one class U/(1 - f) + P K S; several have each its own U and the free memory of all heaps.
        const std::size_t bound = classes_ == 1
                                      ? Design::most_room(peak_, heaps_)
                                      : classes_ * (peak_ + Design::most_free(peak_, heaps_, classes_));
        EXPECT_LE(now.all.a, bound) << "peak of live bytes " << peak_ << ", heaps " << heaps_;
        Statistics reported;
        hoard.statistics(reported);
        EXPECT_EQ(reported.superblocks, now.all.superblocks);
        EXPECT_EQ(reported.superblocks, reported.superblocks_fresh) << "none was given back";
        EXPECT_EQ(reported.small_live, now.all.u);
    }

    Hoard<P> hoard;

private:
    using Design = HoardDesign<P>;

    std::size_t classes_;
    std::atomic<std::size_t> live_bytes_{0};
    std::atomic<std::size_t> peak_{0};
    std::size_t heaps_ = 1;
};

/// Section 2.2: what the consumer frees must be of use to the producer.
TEST(HoardTheorem1, ProducerAndConsumer) {
    for (const std::size_t size : {8u, 100u, 592u, 2000u}) {
        Adversary<ManyHeaps> adversary(1);
        for (int round = 0; round < 30; ++round) {
            std::vector<void *> goods(20'000 / (1 + size / 64));
            elsewhere([&] {
                for (void *&p : goods) {
                    p = adversary.malloc(size);
                }
            });
            elsewhere([&] {
                for (void *p : goods) {
                    adversary.free(p);
                }
            });
            adversary.check();
        }
    }
}

/// Section 6.1: P threads, each frees what the one before allocated. Heaps that keep what comes back need P times U.
TEST(HoardTheorem1, RoundRobinOfThreads) {
    constexpr unsigned processors = 16;
    constexpr std::size_t blocks = 4000;
    Adversary<ManyHeaps> adversary(1);
    std::vector<void *> passed;
    std::vector<std::thread> threads;
    std::atomic<unsigned> turn{0};
    for (unsigned t = 0; t < processors; ++t) { // all live at once, so that they have different heaps
        threads.emplace_back([&, t] {
            for (unsigned round = 0; round < 4; ++round) {
                for (unsigned now = turn; now != round * processors + t; now = turn) {
                    turn.wait(now);
                }
                std::vector<void *> mine(blocks);
                for (void *p : passed) {
                    adversary.free(p);
                }
                for (void *&p : mine) {
                    p = adversary.malloc(128);
                }
                passed.swap(mine);
                adversary.check();
                ++turn;
                turn.notify_all();
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    Statistics now;
    adversary.hoard.statistics(now);
    EXPECT_LT(now.superblocks * superblock_size, 2 * blocks * 128 + processors * slack * superblock_size)
        << "not P times what is live";
    EXPECT_GT(now.superblocks_to_global, processors) << "heap after heap had what it freed moved on";
    for (void *p : passed) {
        adversary.free(p);
    }
}

/// Blocks of many classes, freed in the worst order: all but one of each superblock, heap after heap.
TEST(HoardTheorem1, OneBlockOfEachSuperblockStays) {
    Adversary<TwoProcessors> adversary(3);
    std::vector<void *> kept;
    for (const std::size_t size : {64u, 256u, 992u}) {
        std::vector<void *> all;
        for (std::size_t i = 0; i < 100 * capacity<TwoProcessors>(size); ++i) {
            all.push_back(adversary.malloc(size));
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            i % capacity<TwoProcessors>(size) == 0 ? kept.push_back(all[i]) : adversary.free(all[i]);
        }
        adversary.check();
        Statistics before;
        adversary.hoard.statistics(before);
        for (int round = 0; round < 3; ++round) { // the same again finds room in them
            for (void *&p : all) {
                p = adversary.malloc(size);
            }
            for (void *p : all) {
                adversary.free(p);
            }
        }
        adversary.check();
        Statistics after;
        adversary.hoard.statistics(after);
        EXPECT_LE(after.superblocks, before.superblocks + ceil_div(100, capacity<TwoProcessors>(size)));
    }
    for (void *p : kept) {
        adversary.free(p);
    }
}

/// Fills superblocks of one class, empties them, fills them with another class, and keeps one block in each, again and
/// again. A heap that recycled its own empty superblocks before it looked at the global heap's half empty ones of the
/// class would take K more in every round.
TEST(HoardTheorem1, RecycledSuperblocksDoNotPileUp) {
    Adversary<OneHeap> adversary(2);
    std::vector<void *> kept;
    for (int round = 0; round < 100; ++round) {
        std::vector<void *> all;
        for (std::size_t i = 0; i < slack * capacity<OneHeap>(256); ++i) {
            all.push_back(adversary.malloc(256));
        }
        for (void *p : all) {
            adversary.free(p);
        }
        all.clear();
        for (std::size_t i = 0; i < slack * capacity<OneHeap>(16); ++i) {
            all.push_back(adversary.malloc(16));
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            i % capacity<OneHeap>(16) == 0 ? kept.push_back(all[i]) : adversary.free(all[i]);
        }
        adversary.check();
    }
    for (void *p : kept) {
        adversary.free(p);
    }
}

/// An adversary that chooses at random: sizes, phases of growing and shrinking, and which thread acts.
template <class P = TwoProcessors>
void random_adversary(unsigned seed, std::size_t classes, unsigned threads) {
    Adversary<P> adversary(classes);
    std::array<std::vector<void *>, 4> shelves;
    std::array<std::mutex, 4> locks;
    const auto act = [&](unsigned who) {
        std::mt19937 random(seed * 16 + who);
        for (int phase = 0; phase < 20; ++phase) {
            const std::uint64_t grow = random() % 9 + 1;
            for (int step = 0; step < (platform::sanitized ? 300 : 1500); ++step) {
                const std::size_t shelf = random() % shelves.size();
                const std::lock_guard hold(locks[shelf]);
                std::vector<void *> &blocks = shelves[shelf];
                if (random() % 10 < grow) {
                    blocks.push_back(
                        adversary.malloc(Classes::size_of(static_cast<unsigned>(7 + random() % classes))));
                } else if (!blocks.empty()) {
                    std::swap(blocks[random() % blocks.size()], blocks.back());
                    adversary.free(blocks.back());
                    blocks.pop_back();
                }
            }
            if (threads == 1) {
                adversary.check();
            }
        }
    };
    for (int round = 0; round < 2; ++round) {
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; ++t) {
            all.emplace_back(act, t);
        }
        for (std::thread &thread : all) {
            thread.join();
        }
        adversary.check();
    }
    for (const auto &blocks : shelves) {
        for (void *p : blocks) {
            adversary.free(p);
        }
    }
    adversary.check();
}

TEST(HoardTheorem1, RandomAdversary) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        random_adversary(seed, 1, 1);
        random_adversary(seed, 12, 1);
    }
}

TEST(HoardTheorem1, RandomAdversaryWithoutSlack) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        for (const std::size_t classes : {1u, 2u, 12u}) {
            random_adversary<NoSlack<TwoProcessors>>(seed, classes, 1);
        }
        random_adversary<NoSlack<TwoProcessors>>(seed, 12, 5);
    }
}

TEST(HoardTheorem1, RandomAdversariesInThreads) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        random_adversary(seed, 1, 5);
        random_adversary(seed, 12, 5);
    }
}

TEST(Hoard, LargeObjectsAreMappingsOfTheirOwn) {
    Hoard<OneHeap> hoard;
    Statistics now;
    void *const small = hoard.malloc(superblock_size / 2);
    hoard.statistics(now);
    EXPECT_EQ(now.huge_live_blocks, 0u);
    void *const large = hoard.malloc(superblock_size / 2 + 1);
    EXPECT_GE(hoard.getSize(large), superblock_size / 2 + 1);
    hoard.statistics(now);
    EXPECT_EQ(now.huge_live_blocks, 1u);
    const std::uint64_t mapped = now.mapped;
    hoard.free(large);
    hoard.statistics(now);
    EXPECT_EQ(now.huge_live, 0u);
    EXPECT_LT(now.mapped, mapped) << "given back at once";
    hoard.free(small);
}

TEST(Hoard, AlignedBlocksAreFoundAgainFromInside) {
    Hoard<OneHeap> hoard;
    for (std::size_t wanted = 1; wanted <= 1_MiB; wanted *= 2) {
        for (const std::size_t size : {0u, 1u, 16u, 100u, 3000u, 9000u}) {
            std::array<void *, 20> blocks{};
            for (void *&p : blocks) {
                p = hoard.memalign(wanted, size);
                ASSERT_TRUE(is_aligned(p, wanted));
                ASSERT_GE(hoard.getSize(p), size);
                std::memset(p, 1, size);
            }
            EXPECT_EQ(std::set<void *>(blocks.begin(), blocks.end()).size(), blocks.size())
                << wanted << ", " << size;
            for (void *p : blocks) {
                hoard.free(p);
            }
            EXPECT_EQ(account(hoard, 1).u, 0u) << wanted << ", " << size;
        }
    }
}

/// Each mapping ends where the one before it begins, as the kernel's do most often.
class Downward {
public:
    explicit Downward(std::size_t bytes) : bytes_(bytes), start_(pages_.map(bytes, bytes)) {
        top_ = static_cast<char *>(start_) + bytes;
    }
    Downward(const Downward &) = delete;
    Downward &operator=(const Downward &) = delete;
    ~Downward() { pages_.unmap(start_, bytes_); }

    void *map(std::size_t bytes, std::size_t) { return top_ -= bytes; }
    void unmap(void *, std::size_t) {}

private:
    KernelPages pages_;
    std::size_t bytes_;
    void *start_;
    char *top_;
};

/// The walk with which the child of a fork opens superblocks, after each superblock, the last of a chunk too.
TEST(Hoard, TheWalkOverSuperblocksMissesNone) {
    constexpr std::size_t chunk = 4 * superblock_size;
    Downward pages(4 * chunk);
    HoardSupply<superblock_size, chunk> supply;
    std::set<const void *> given;
    for (std::size_t i = 0; i < 4 * chunk / superblock_size; ++i) {
        given.insert(supply.fresh(pages));
        std::set<const void *> walked;
        supply.for_each([&](const HoardSuperblock<superblock_size> &s) { walked.insert(&s); });
        EXPECT_EQ(walked, given) << "after " << i + 1;
    }
    supply.release(pages);
}

TEST(Hoard, CountsNoHeapsThatItCouldNotMake) {
    struct Nothing {
        static void *map(std::size_t, std::size_t) { return nullptr; }
        static void unmap(void *, std::size_t) {}
    };
    Hoard<TwoProcessors, Nothing> hoard;
    EXPECT_EQ(hoard.malloc(8), nullptr);
    Statistics statistics;
    hoard.statistics(statistics);
    EXPECT_EQ(statistics.metadata, 0u);
}

/// Threads are in the middle of frees, some hold a superblock's lock and wait for the heap's, when the process forks.
TEST(Hoard, TheChildOfAForkIsWhole) {
    static constinit Hoard<OneHeap> hoard;
    std::vector<void *> shared(64);
    for (void *&p : shared) {
        p = hoard.malloc(64);
    }
    std::atomic<bool> done{false};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            while (!done) {
                void *const p = hoard.malloc(64);
                hoard.free(p);
            }
        });
    }
    for (int i = 0; i < 30; ++i) {
        hoard.lock_all();
        const pid_t child = fork();
        hoard.unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
        if (child == 0) {
            alarm(20); // a lock that is held by nobody would be waited for without end
            for (void *p : shared) {
                hoard.free(p);
            }
            _exit(hoard.malloc(64) != nullptr ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    done = true;
}

} // namespace
