// SPDX-License-Identifier: MIT
//
// Long blocks: runs of slots (LargeHeap), those that wait for their thread, mappings (HugeHeap, with its table and its
// cache), against each other and against what gives memory back. At the end of each execution everything is freed, and
// nothing may be missing.
#include "model.hpp"

#include <cairn/core/statistics.hpp>
#include <cairn/run/huge_heap.hpp>
#include <cairn/run/large_heap.hpp>

using namespace cairn;

namespace {

/// The blocks of a kernel, each with its own mark at both ends.
template <unsigned Most>
struct Marked {
    char *blocks[Most] = {};
    std::size_t lengths[Most] = {};

    static unsigned &word(char *at) { return *reinterpret_cast<unsigned *>(at); }
    void mark(unsigned i, void *p, std::size_t length) {
        model::check(p != nullptr, "no memory");
        blocks[i] = static_cast<char *>(p);
        lengths[i] = length;
        word(blocks[i]) = i + 1;
        word(blocks[i] + length - sizeof(unsigned)) = i + 1;
    }
    void check_mark(unsigned i) {
        model::check(word(blocks[i]) == i + 1 && word(blocks[i] + lengths[i] - sizeof(unsigned)) == i + 1,
                     "somebody else has written into a block, or it is not there");
    }
    /// The block is about to be freed.
    void *give_up(unsigned i) {
        check_mark(i);
        char *const p = blocks[i];
        blocks[i] = nullptr;
        return p;
    }
    /// No two of them share memory.
    void check_apart() {
        for (unsigned i = 0; i < Most; ++i) {
            if (blocks[i] != nullptr) {
                check_mark(i);
            }
            for (unsigned k = 0; k < Most; ++k) {
                model::check(i == k || blocks[i] == nullptr || blocks[k] == nullptr ||
                                 blocks[i] + lengths[i] <= blocks[k] || blocks[k] + lengths[k] <= blocks[i],
                             "two blocks share memory");
            }
        }
    }
};

// ---- runs of slots

struct Large : Marked<6> {
    RunHeap runs;
    LargeHeap large{runs};

    explicit Large(unsigned had = 3) {
        for (unsigned i = 0; i < had; ++i) {
            malloc(i, 2);
        }
        for (unsigned i = 0; i < had; ++i) {
            model::name(&shared_of(line_of(blocks[i]))->starts_below, "live");
        }
    }
    static OwnerLine *line_of(const void *p) { return owner_line_of(shared_line_at(address_of(p))); }

    void malloc(unsigned i, unsigned slots, unsigned who = SpareRuns::no_heap) {
        const std::size_t size = slots * slot_size;
        void *p = large.malloc_spare(size, 16, who);
        if (p == nullptr) {
            bool clean = false;
            p = large.malloc(size, 16, clean, who);
            model::check(p == nullptr || !clean || word(static_cast<char *>(p)) == 0,
                         "clean memory that is not");
        }
        mark(i, p, size);
    }
    LargeHeap::Freed free(unsigned i, unsigned who = SpareRuns::no_heap) {
        return large.free(line_of(give_up(i)), who);
    }
    void finish() {
        check_apart();
        std::size_t bytes = 0, count = 0;
        for (char *const p : blocks) {
            if (p != nullptr) {
                bytes += span_of(line_of(p));
                ++count;
                model::check(Segment::of(address_of(p))->kind(Segment::slot_of(address_of(p))) ==
                                 SlotKind::large,
                             "a block that no free() would know");
            }
        }
        for (unsigned i = 0; i < 6; ++i) {
            model::check(blocks[i] == nullptr || (LargeHeap::size_of(line_of(blocks[i])) == lengths[i] &&
                                                  span_of(line_of(blocks[i])) == lengths[i]),
                         "a block is not as long as it should be");
        }
        Statistics all{};
        large.statistics(all);
        model::check(all.large_live == bytes && all.large_live_blocks == count,
                     "the sums say more or less than there is");
        for (unsigned i = 0; i < 6; ++i) {
            model::check(blocks[i] == nullptr || free(i) == LargeHeap::Freed::run, "a block is not live");
        }
        large.give_up_spares();
        model::check(runs.dirty_bytes() == runs.resident_bytes(), "a run is lost");
    }
};

/// One frees, the other one allocates. Nothing but the lock of a stripe hands the memory over.
struct LargeHandOver : Large {
    char *const first = blocks[0];
    void thread(unsigned i) { i == 0 ? void(free(0)) : malloc(4, 2); }
    void finish() {
        model::outcome(blocks[4] == first ? "again" : "others");
        Large::finish();
    }
};
const model::Kernel<LargeHandOver, 2> large_hand_over("large.hand_over", {.executions = 400'000,
                                                                          .short_executions = 3'000,
                                                                          .outcomes = "again, others"});

/// Two free neighbours, which become one run.
struct LargeNeighbours : Large {
    void thread(unsigned i) { free(i); }
};
const model::Kernel<LargeNeighbours, 2> large_neighbours("large.neighbours", model::capped(3'000));

/// The program frees one block twice at one time: one of the two is told so.
template <unsigned First, unsigned Second>
struct LargeTwice : Large {
    LargeHeap::Freed results[2] = {};
    OwnerLine *const line = line_of(blocks[0]);
    LargeTwice() { give_up(0); }
    void thread(unsigned i) { results[i] = large.free(line, i == 0 ? First : Second); }
    void finish() {
        constexpr auto nothing = LargeHeap::Freed::nothing;
        model::check((results[0] == nothing) != (results[1] == nothing), "a block was freed twice, or never");
        Large::finish();
    }
};
const model::Kernel<LargeTwice<0, 0>, 2> large_twice("large.twice", model::capped(3'000));
const model::Kernel<LargeTwice<1, 2>, 2> large_twice_kept("large.twice.kept");

/// Two threads with one place: what one frees is the other one's next block.
template <unsigned Slots>
struct LargeSpares : Large {
    static constexpr unsigned who[] = {1, 1 + SpareRuns::places};
    LargeSpares() {
        if (Slots != 2) {
            malloc(3, Slots);
        }
    }
    void thread(unsigned i) {
        free(i == 0 ? 0 : Slots == 2 ? 1 : 3, who[i]);
        malloc(4 + i, 2, who[i]);
    }
};
const model::Kernel<LargeSpares<2>, 2> large_spares("large.spares", model::capped(3'000));
const model::Kernel<LargeSpares<3>, 2> large_lengths("large.spares.lengths", model::capped(10'000));

/// What was kept is given up meanwhile, by the purger.
struct LargeGivenUp : Large {
    void thread(unsigned i) {
        if (i == 0) {
            free(0, 1);
            malloc(4, 2, 1);
        } else {
            large.give_up_spares();
        }
    }
};
const model::Kernel<LargeGivenUp, 2> large_given_up("large.spares.given_up", model::capped(3'000));

/// A block grows into what its neighbour was, or gives its end back, while another thread frees and allocates there.
template <unsigned Slots>
struct LargeResized : Large {
    void thread(unsigned i) {
        if (i == 0) {
            if (large.resize_in_place(line_of(blocks[0]), Slots * slot_size)) {
                check_first(0);
                mark(0, blocks[0], Slots * slot_size);
            }
        } else {
            free(1);
            malloc(4, 1);
        }
    }
    void check_first(unsigned i) { model::check(word(blocks[i]) == i + 1, "a block has changed"); }
};
const model::Kernel<LargeResized<4>, 2> large_grows("large.grows", model::capped(3'000));
const model::Kernel<LargeResized<1>, 2> large_shrinks("large.shrinks", model::capped(3'000));

/// What lies free goes back to the operating system, which takes its time, while others free, and allocate there.
template <bool Malloc, bool Clock>
struct LargePurged : Large {
    LargePurged() {
        free(0);
        runs.purge_idle(0); // what lies free at the next tick has been unused since
    }
    void thread(unsigned i) {
        if (i == 0) {
            if (Clock) {
                runs.purge_idle(0);
            } else {
                runs.purge(0);
            }
        } else if (Malloc) {
            malloc(4, 2);
        } else {
            free(1);
        }
    }
};
const model::Kernel<LargePurged<true, false>, 2> large_purge_malloc("large.purge.malloc",
                                                                    model::capped(20'000));
const model::Kernel<LargePurged<false, false>, 2> large_purge_free("large.purge.free", model::capped(3'000));
const model::Kernel<LargePurged<false, true>, 2> large_purge_clock("large.purge.clock", model::capped(3'000));

/// A large heap grows by a huge page, which is nobody's while the kernel makes it; the other thread grows too, or gives
/// back what lies free.
template <bool Malloc>
struct LargeHugeStep : Large {
    LargeHugeStep() : Large(0) {
        runs.space().use_huge_pages(HugePageUse::growth);
        for (unsigned i = 1; i < 4; ++i) {
            malloc(i, 256);
        }
        malloc(4, 2); // a trial
        malloc(5, 4_MiB / slot_size);
        free(4);
        free(5);
        runs.purge(0);
    }
    void thread(unsigned i) {
        if (i == 0 || Malloc) {
            malloc(4 + i, 2);
        } else {
            runs.purge(0);
        }
    }
    void finish() {
        model::check(!Malloc || runs.resident_bytes() >= HugeSteps::least + HugeSteps::bytes,
                     "no step was taken");
        model::outcome(runs.dirty_bytes() == 0 ? "back" : "free");
        Large::finish();
    }
};
const model::Kernel<LargeHugeStep<true>, 2>
    large_huge_step_malloc("large.huge_step.malloc",
                           {.executions = 400'000, .short_executions = 3'000, .outcomes = "free"});
const model::Kernel<LargeHugeStep<false>, 2>
    large_huge_step_purge("large.huge_step.purge",
                          {.executions = 400'000, .short_executions = 3'000, .outcomes = "back, free"});

// ---- mappings

/// What is unmapped may be somebody else's at once (Options::reuses).
struct Huge : Marked<6> {
    static constexpr std::size_t size = 128_KiB;
    RunHeap runs;
    HugeHeap huge{runs};
    char *addresses[12] = {}; ///< where there was a block
    unsigned known = 0;

    explicit Huge(unsigned had = 2) {
        for (unsigned i = 0; i < had; ++i) {
            malloc(i);
            addresses[known++] = blocks[i];
        }
    }
    bool malloc(unsigned i, std::size_t bytes = size) {
        bool clean = false;
        void *const p = huge.malloc(bytes, 16, clean);
        mark(i, p, bytes);
        return clean;
    }
    bool free(unsigned i) { return huge.free(give_up(i)); }
    void reallocate(unsigned i, std::size_t bytes) {
        check_mark(i);
        char *const before = blocks[i];
        blocks[i] = nullptr; // its addresses may be another's as soon as it has moved
        void *const p = huge.reallocate(before, bytes);
        if (p == nullptr) {
            blocks[i] = before;
            return;
        }
        model::check(word(static_cast<char *>(p)) == i + 1, "a block that has moved is not the same");
        mark(i, p, bytes);
    }
    /// Every mapping is in the table or in the cache, none is in both, and the windows say so.
    void finish() {
        check_apart();
        std::size_t bytes = 0, count = 0;
        for (char *const p : blocks) {
            if (p != nullptr) {
                const std::size_t has = huge.size_of(p);
                model::check(has != 0, "a block is not in the table");
                model::check(WindowMap::kind(address_of(p)) == WindowKind::huge,
                             "a block that no free() would know");
                bytes += has;
                ++count;
            }
        }
        for (unsigned i = 0; i < 6; ++i) {
            model::check(blocks[i] == nullptr || huge.size_of(blocks[i]) >= lengths[i],
                         "a block is shorter than it should be");
        }
        Statistics all{};
        huge.statistics(all);
        model::check(all.huge_live == bytes && all.huge_live_blocks == count && huge.live_bytes() == bytes,
                     "the sums say more or less than there is");
        model::check(all.free_dirty == huge.cached_bytes() &&
                         runs.space().mapped() == bytes + huge.cached_bytes(),
                     "a mapping is lost, or counted twice");
        for (unsigned i = 0; i < 6; ++i) {
            if (blocks[i] != nullptr) {
                addresses[known++] = blocks[i];
                model::check(free(i), "a block is not live");
            }
        }
        for (char *const p : addresses) {
            model::check(p == nullptr || WindowMap::kind(address_of(p)) == WindowKind::foreign,
                         "a window is said to be a block's that is gone");
        }
        huge.flush();
        model::check(huge.cached_bytes() == 0 && runs.space().mapped() == 0, "a mapping is not given back");
    }
};

/// One frees, the other one allocates: the cached mapping, or another one.
struct HugeHandOver : Huge {
    bool clean = false;
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
        } else {
            clean = malloc(2);
        }
    }
    void finish() {
        model::outcome(clean ? "new" : "cached");
        Huge::finish();
    }
};
const model::Kernel<HugeHandOver, 2> huge_hand_over("huge.hand_over", {.executions = 400'000,
                                                                       .short_executions = 3'000,
                                                                       .reuses = true,
                                                                       .outcomes = "cached, new"});

/// The program frees one block twice at one time: one of the two is told so.
struct HugeTwice : Huge {
    bool results[2] = {};
    char *const p = blocks[0];
    HugeTwice() { give_up(0); }
    void thread(unsigned i) { results[i] = huge.free(p); }
    void finish() {
        model::check(results[0] != results[1], "a block was freed twice, or never");
        Huge::finish();
    }
};
const model::Kernel<HugeTwice, 2> huge_twice("huge.twice", {.reuses = true});

/// The sizes of two blocks, one of which another thread frees, as a program must not: the answer is of before or after
/// that.
struct HugeSize : Huge {
    char *const p = blocks[0];
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
        } else {
            const std::size_t was = huge.size_of(p);
            model::check(was == size || was == 0, "a block has a size that it never had");
            model::check(huge.size_of(blocks[1]) == size, "a block has another size than it had");
        }
    }
};
const model::Kernel<HugeSize, 2> huge_size("huge.size", {.reuses = true});

/// What is cached is unmapped, and its addresses come again, in another thread.
struct HugeFlush : Huge {
    char *const first = blocks[0];
    HugeFlush() { free(0); }
    void thread(unsigned i) {
        if (i == 0) {
            huge.flush();
        } else {
            malloc(2);
        }
    }
    void finish() {
        model::outcome(blocks[2] == first ? "again" : "others");
        Huge::finish();
    }
};
const model::Kernel<HugeFlush, 2> huge_flush("huge.flush", {.executions = 400'000,
                                                            .short_executions = 3'000,
                                                            .reuses = true,
                                                            .outcomes = "again, others"});

/// The same of a block that is just freed; and of one that was not used since the last tick.
struct HugeFreeFlush : Huge {
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
        } else if (i == 1) {
            huge.purge_idle();
            huge.purge_idle();
        } else {
            malloc(2);
        }
    }
};
const model::Kernel<HugeFreeFlush, 3>
    huge_free_flush("huge.free_flush", {.executions = 400'000, .short_executions = 3'000, .reuses = true});

/// A block moves because it grows, or gives its end back, and another thread gets addresses that it has had.
template <std::size_t Bytes, bool Cached>
struct HugeResized : Huge {
    char *const first = blocks[0];
    bool again = false;
    HugeResized() : Huge(3) {
        if (Cached) {
            free(2);
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            reallocate(0, Bytes);
        } else {
            malloc(3);
            again = blocks[3] == first;
            free(1);
        }
    }
    void finish() {
        model::outcome(again ? "again" : "others");
        Huge::finish();
    }
};
const model::Kernel<HugeResized<2 * Huge::size, false>, 2>
    huge_grows("huge.grows", {.executions = 400'000, .short_executions = 3'000, .reuses = true});
const model::Kernel<HugeResized<Huge::size / 2, false>, 2>
    huge_shrinks("huge.shrinks", {.executions = 400'000, .short_executions = 3'000, .reuses = true});
const model::Kernel<HugeResized<2 * Huge::size, true>, 2>
    huge_grows_cached("huge.grows.cached",
                      {.executions = 400'000, .short_executions = 3'000, .reuses = true});

/// More lies free than the invariant allows: who takes new memory gives the end of it back, while another one takes it.
struct HugeEvicts : Huge {
    static constexpr std::size_t much = 40_MiB;
    HugeEvicts() {
        malloc(2, much);
        addresses[known++] = blocks[2];
        free(2);
    }
    void thread(unsigned i) {
        if (i == 0) {
            malloc(3, 1_MiB);
        } else {
            malloc(4, much - 1_MiB);
        }
    }
};
const model::Kernel<HugeEvicts, 2>
    huge_evicts("huge.evicts", {.executions = 20'000, .short_executions = 1'000, .reuses = true});

} // namespace
