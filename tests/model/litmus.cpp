// SPDX-License-Identifier: MIT
//
// Litmus tests: which outcomes the memory model has, and which it has not; and that reduction loses none of them.
#include "model.hpp"

#include <cairn/platform/fence.hpp>
#include <cairn/platform/vm.hpp>

#include <atomic>
#include <cstdio>

using namespace cairn;

namespace {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using Order = std::memory_order;

struct Two {
    std::atomic<int> x{0}, y{0};
    int r[4] = {};
    Two() {
        model::name(&x, "x");
        model::name(&y, "y");
    }
};

template <Order Store, Order Load, bool Fence = false>
struct StoreBuffering : Two {
    void thread(unsigned i) {
        (i == 0 ? x : y).store(1, Store);
        if constexpr (Fence) {
            std::atomic_thread_fence(memory_order_seq_cst);
        }
        r[i] = (i == 0 ? y : x).load(Load);
    }
    void finish() { model::outcome_of(r, 2); }
};
#define ALL_FOUR "0 0, 0 1, 1 0, 1 1"
#define NOT_BOTH_OLD "0 1, 1 0, 1 1"
const model::Kernel<StoreBuffering<memory_order_relaxed, memory_order_relaxed>, 2>
    sb("litmus.sb", {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<StoreBuffering<memory_order_release, memory_order_acquire>, 2>
    sb_ra("litmus.sb.release_acquire", {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<StoreBuffering<memory_order_seq_cst, memory_order_seq_cst>, 2>
    sb_sc("litmus.sb.seq_cst", {.outcomes = NOT_BOTH_OLD, .compare = true});
const model::Kernel<StoreBuffering<memory_order_seq_cst, memory_order_acquire>, 2>
    sb_half("litmus.sb.seq_cst_stores_only", {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<StoreBuffering<memory_order_relaxed, memory_order_relaxed, true>, 2>
    sb_f("litmus.sb.fences", {.outcomes = NOT_BOTH_OLD, .compare = true});

/// One side passes a light fence, the other one a heavy one (membarrier).
template <bool Heavy>
struct Asymmetric : Two {
    void thread(unsigned i) {
        (i == 0 ? x : y).store(1, memory_order_release);
        if (i == 0) {
            platform::light_fence();
        } else if constexpr (Heavy) {
            platform::heavy_fence();
        }
        r[i] = (i == 0 ? y : x).load(memory_order_acquire);
    }
    void finish() { model::outcome_of(r, 2); }
};
const model::Kernel<Asymmetric<true>, 2> sb_a("litmus.sb.membarrier",
                                              {.outcomes = NOT_BOTH_OLD, .compare = true});
const model::Kernel<Asymmetric<false>, 2> sb_l("litmus.sb.light_fence_alone",
                                               {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<Asymmetric<true>, 2> sb_m("litmus.sb.membarrier_muted",
                                              {.mute_fence = 1, .outcomes = ALL_FOUR, .compare = true});

/// A fence that another thread makes this one pass comes between two loads, the first of which reads what a third
/// thread stores.
struct FenceBetweenReads : Two {
    void thread(unsigned i) {
        if (i == 0) {
            r[0] = x.load(memory_order_relaxed);
            r[1] = y.load(memory_order_relaxed);
        } else if (i == 1) {
            y.store(1, memory_order_relaxed);
            platform::heavy_fence();
        } else {
            x.store(1, memory_order_relaxed);
        }
    }
    void finish() { model::outcome_of(r, 2); }
};
const model::Kernel<FenceBetweenReads, 3> fb("litmus.membarrier.between_reads",
                                             {.outcomes = ALL_FOUR, .compare = true});

/// Of the two threads that a membarrier makes pass a fence, either may be the first: the one that is looks at what the
/// other stores, or the other way round.
template <unsigned Step>
struct FencesInAnyOrder : Two {
    std::atomic<int> z{0};
    void thread(unsigned i) {
        std::atomic<int> *const at[] = {&x, &y, &z};
        at[i]->store(1, memory_order_relaxed);
        if (i == 0) {
            platform::heavy_fence();
        }
        r[i] = at[(i + Step) % 3]->load(memory_order_relaxed);
    }
    void finish() { model::outcome_of(r, 3); }
};
#define ALL_EIGHT "0 0 0, 0 0 1, 0 1 0, 0 1 1, 1 0 0, 1 0 1, 1 1 0, 1 1 1"
const model::Kernel<FencesInAnyOrder<1>, 3> fo_1("litmus.membarrier.any_order",
                                                 {.outcomes = ALL_EIGHT, .compare = true});
const model::Kernel<FencesInAnyOrder<2>, 3> fo_2("litmus.membarrier.any_order.back",
                                                 {.outcomes = ALL_EIGHT, .compare = true});

template <Order Store, Order Load, Order StoreFence = memory_order_relaxed,
          Order LoadFence = memory_order_relaxed>
struct MessagePassing : Two {
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, memory_order_relaxed);
            std::atomic_thread_fence(StoreFence);
            y.store(1, Store);
        } else {
            r[0] = y.load(Load);
            std::atomic_thread_fence(LoadFence);
            r[1] = x.load(memory_order_relaxed);
        }
    }
    void finish() { model::outcome_of(r, 2); }
};
#define PASSED "0 0, 0 1, 1 1"
const model::Kernel<MessagePassing<memory_order_relaxed, memory_order_relaxed>, 2>
    mp("litmus.mp", {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<MessagePassing<memory_order_release, memory_order_relaxed>, 2>
    mp_r("litmus.mp.release_only", {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<MessagePassing<memory_order_relaxed, memory_order_acquire>, 2>
    mp_a("litmus.mp.acquire_only", {.outcomes = ALL_FOUR, .compare = true});
const model::Kernel<MessagePassing<memory_order_release, memory_order_acquire>, 2>
    mp_ra("litmus.mp.release_acquire", {.outcomes = PASSED, .compare = true});
const model::Kernel<MessagePassing<memory_order_relaxed, memory_order_acquire, memory_order_release>, 2>
    mp_fr("litmus.mp.release_fence", {.outcomes = PASSED, .compare = true});
const model::Kernel<
    MessagePassing<memory_order_release, memory_order_relaxed, memory_order_relaxed, memory_order_acquire>, 2>
    mp_fa("litmus.mp.acquire_fence", {.outcomes = PASSED, .compare = true});
const model::Kernel<
    MessagePassing<memory_order_relaxed, memory_order_relaxed, memory_order_acq_rel, memory_order_acq_rel>, 2>
    mp_ff("litmus.mp.two_fences", {.outcomes = PASSED, .compare = true});
const model::Kernel<
    MessagePassing<memory_order_relaxed, memory_order_relaxed, memory_order_acquire, memory_order_acq_rel>, 2>
    mp_fw("litmus.mp.fence_of_the_wrong_kind", {.outcomes = ALL_FOUR, .compare = true});

/// The flag goes through another thread's read-modify-write, which goes on with the release sequence; a store ends it.
template <bool Update>
struct ReleaseSequence : Two {
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, memory_order_relaxed);
            y.store(1, memory_order_release);
        } else if (i == 1) {
            if constexpr (Update) {
                r[2] = y.fetch_add(1, memory_order_relaxed);
            } else if (y.load(memory_order_relaxed) == 1) {
                y.store(2, memory_order_relaxed);
            }
        } else {
            r[0] = y.load(memory_order_acquire);
            r[1] = x.load(memory_order_relaxed);
        }
    }
    void finish() { model::outcome(r[0] == 2 && r[1] == 0 ? "lost" : "kept"); }
};
const model::Kernel<ReleaseSequence<true>, 3> rs_u("litmus.release_sequence.update",
                                                   {.outcomes = "kept", .compare = true});
const model::Kernel<ReleaseSequence<false>, 3> rs_s("litmus.release_sequence.store",
                                                    {.outcomes = "kept, lost", .compare = true});

/// Program order is kept, but where late reads are asked for.
template <Order Store, Order Load = memory_order_relaxed, Order FirstLoad = memory_order_relaxed,
          Order Fence = memory_order_relaxed>
struct LoadBuffering : Two {
    void thread(unsigned i) {
        r[i] = (i == 0 ? x : y).load(i == 0 ? FirstLoad : Load);
        if (i == 0) {
            std::atomic_thread_fence(Fence);
        }
        (i == 0 ? y : x).store(1, Store);
    }
    void finish() { model::outcome_of(r, 2); }
};
#define NOT_BOTH_NEW "0 0, 0 1, 1 0"
const model::Kernel<LoadBuffering<memory_order_relaxed>, 2> lb("litmus.lb",
                                                               {.outcomes = NOT_BOTH_NEW, .compare = true});
const model::Kernel<LoadBuffering<memory_order_relaxed>, 2>
    lb_l("litmus.lb.late", {.late = true, .outcomes = ALL_FOUR, .compare = true});
// One of the loads may be late; both sides release, and the other load acquires.
const model::Kernel<LoadBuffering<memory_order_release, memory_order_relaxed>, 2>
    lb_r("litmus.lb.release_only", {.late = true, .outcomes = ALL_FOUR, .compare = true});
const model::Kernel<LoadBuffering<memory_order_relaxed, memory_order_acquire>, 2>
    lb_a("litmus.lb.acquire_only", {.late = true, .outcomes = ALL_FOUR, .compare = true});
const model::Kernel<LoadBuffering<memory_order_release, memory_order_acquire>, 2>
    lb_ra("litmus.lb.release_acquire", {.late = true, .outcomes = NOT_BOTH_NEW, .compare = true});
const model::Kernel<LoadBuffering<memory_order_relaxed, memory_order_acquire, memory_order_acquire>, 2>
    lb_aa("litmus.lb.no_relaxed_load", {.late = true, .outcomes = NOT_BOTH_NEW, .compare = true});
// C++ would allow it behind an acquire fence; here no load is late that any fence follows.
const model::Kernel<
    LoadBuffering<memory_order_relaxed, memory_order_acquire, memory_order_relaxed, memory_order_acquire>, 2>
    lb_f("litmus.lb.fence", {.late = true, .outcomes = NOT_BOTH_NEW, .compare = true});

/// What is stored depends on what was read: no value comes out of thin air.
template <bool Control>
struct ThinAir : Two {
    void thread(unsigned i) {
        r[i] = (i == 0 ? x : y).load(memory_order_relaxed);
        if (!Control || r[i] == 1) {
            (i == 0 ? y : x).store(Control ? 1 : r[i], memory_order_relaxed);
        }
    }
    void finish() { model::outcome_of(r, 2); }
};
const model::Kernel<ThinAir<false>, 2> lb_d("litmus.lb.data",
                                            {.late = true, .outcomes = "0 0", .compare = true});
const model::Kernel<ThinAir<true>, 2> lb_c("litmus.lb.control",
                                           {.late = true, .outcomes = "0 0", .compare = true});

/// The store comes whatever the load reads, but only behind another value of what depends on the load.
struct ThinAirBehind : Two {
    void thread(unsigned i) {
        if (i == 0) {
            r[0] = x.load(memory_order_relaxed);
            y.store(r[0] == 1 ? 5 : 4, memory_order_relaxed);
        } else {
            r[1] = y.load(memory_order_relaxed);
            x.store(r[1] != 0 ? 1 : 0, memory_order_relaxed);
        }
    }
    void finish() { model::outcome_of(r, 2); }
};
const model::Kernel<ThinAirBehind, 2> lb_b("litmus.lb.behind",
                                           {.late = true, .outcomes = "0 0, 0 4", .compare = true});

/// One side depends on what it reads, the other one does not.
struct HalfDependent : Two {
    void thread(unsigned i) {
        if (i == 0) {
            r[0] = x.load(memory_order_relaxed);
            y.store(1, memory_order_relaxed);
        } else {
            r[1] = y.load(memory_order_relaxed);
            x.store(r[1], memory_order_relaxed);
        }
    }
    void finish() { model::outcome_of(r, 2); }
};
const model::Kernel<HalfDependent, 2> lb_h("litmus.lb.half",
                                           {.late = true, .outcomes = "0 0, 0 1, 1 1", .compare = true});

/// Who comes behind a late read does not read what is older, nor does its own thread.
struct LateCoherence : Two {
    void thread(unsigned i) {
        if (i == 0) {
            r[0] = x.load(memory_order_relaxed);
            y.store(1, memory_order_relaxed);
            r[1] = x.load(memory_order_relaxed);
        } else {
            r[2] = y.load(memory_order_relaxed);
            x.store(1, memory_order_relaxed);
        }
    }
    void finish() {
        model::check(r[0] <= r[1], "an older value behind a newer one");
        model::outcome(r[0] == 1 && r[2] == 1 ? "late" : "not late");
    }
};
const model::Kernel<LateCoherence, 2> lb_co("litmus.lb.coherence",
                                            {.late = true, .outcomes = "late, not late", .compare = true});

/// The same with a third thread, which has acquired what comes behind the late read.
struct LateCausality : Two {
    std::atomic<int> z{0};
    void thread(unsigned i) {
        if (i == 0) {
            r[0] = x.load(memory_order_relaxed);
            y.store(1, memory_order_relaxed);
            z.store(1, memory_order_release);
        } else if (i == 1) {
            r[1] = y.load(memory_order_relaxed);
            x.store(1, memory_order_relaxed);
        } else {
            r[2] = z.load(memory_order_acquire);
            r[3] = x.load(memory_order_relaxed);
        }
    }
    void finish() {
        model::check(r[0] == 0 || r[2] == 0 || r[3] == 1, "an older value behind a newer one");
        model::outcome(r[0] == 1 && r[1] == 1 ? (r[2] == 1 ? "late and acquired" : "late") : "not late");
    }
};
const model::Kernel<LateCausality, 3>
    lb_ca("litmus.lb.causality",
          {.late = true, .outcomes = "late, late and acquired, not late", .compare = true});

template <Order Store, Order Load, bool Fence = false>
struct IndependentReads : Two {
    void thread(unsigned i) {
        if (i < 2) {
            (i == 0 ? x : y).store(1, Store);
            return;
        }
        std::atomic<int> &first = i == 2 ? x : y;
        std::atomic<int> &second = i == 2 ? y : x;
        r[i == 2 ? 0 : 2] = first.load(Load);
        if constexpr (Fence) {
            std::atomic_thread_fence(memory_order_seq_cst);
        }
        r[i == 2 ? 1 : 3] = second.load(Load);
    }
    void finish() {
        const bool disagree = r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
        model::outcome(disagree ? "disagree" : "agree");
    }
};
const model::Kernel<IndependentReads<memory_order_release, memory_order_acquire>, 4>
    iriw("litmus.iriw.release_acquire", {.outcomes = "agree, disagree", .compare = true});
const model::Kernel<IndependentReads<memory_order_seq_cst, memory_order_seq_cst>, 4>
    iriw_sc("litmus.iriw.seq_cst", {.outcomes = "agree", .compare = true});
const model::Kernel<IndependentReads<memory_order_relaxed, memory_order_relaxed, true>, 4>
    iriw_f("litmus.iriw.fences", {.outcomes = "agree", .compare = true});

/// Two loads of one location do not go back.
struct Coherence : Two {
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, memory_order_relaxed);
            x.store(2, memory_order_relaxed);
        } else {
            r[0] = x.load(memory_order_relaxed);
            r[1] = x.load(memory_order_relaxed);
        }
    }
    void finish() { model::outcome_of(r, 2); }
};
const model::Kernel<Coherence, 2> corr("litmus.corr",
                                       {.outcomes = "0 0, 0 1, 0 2, 1 1, 1 2, 2 2", .compare = true});

template <Order Store, bool Fence = false>
struct TwoByTwoWrites : Two {
    void thread(unsigned i) {
        (i == 0 ? x : y).store(1, Store);
        if constexpr (Fence) {
            std::atomic_thread_fence(memory_order_seq_cst);
        }
        (i == 0 ? y : x).store(2, Store);
    }
    void finish() {
        const int last[] = {x.load(), y.load()};
        model::outcome_of(last, 2);
    }
};
const model::Kernel<TwoByTwoWrites<memory_order_release>, 2>
    w22("litmus.2+2w", {.insert = true, .outcomes = "1 1, 1 2, 2 1, 2 2", .compare = true});
const model::Kernel<TwoByTwoWrites<memory_order_release>, 2>
    w22_a("litmus.2+2w.appended_only", {.outcomes = "1 2, 2 1, 2 2", .compare = true});
const model::Kernel<TwoByTwoWrites<memory_order_seq_cst>, 2>
    w22_sc("litmus.2+2w.seq_cst", {.insert = true, .outcomes = "1 2, 2 1, 2 2", .compare = true});
const model::Kernel<TwoByTwoWrites<memory_order_relaxed, true>, 2>
    w22_f("litmus.2+2w.fences", {.insert = true, .outcomes = "1 2, 2 1, 2 2", .compare = true});

/// Read-modify-writes read the last value, always.
struct Counting : Two {
    void thread(unsigned) {
        x.fetch_add(1, memory_order_relaxed);
        x.fetch_add(1, memory_order_relaxed);
    }
    void finish() {
        const int last = x.load();
        model::outcome_of(&last, 1);
    }
};
const model::Kernel<Counting, 3> count("litmus.update", {.insert = true, .outcomes = "6", .compare = true});

/// Write to read causality: what was seen is passed on.
template <Order Store, Order Load>
struct Causality : Two {
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, memory_order_relaxed);
        } else if (i == 1) {
            r[0] = x.load(memory_order_relaxed);
            y.store(1, Store);
        } else {
            r[1] = y.load(Load);
            r[2] = x.load(memory_order_relaxed);
        }
    }
    void finish() { model::outcome(r[0] == 1 && r[1] == 1 && r[2] == 0 ? "lost" : "kept"); }
};
const model::Kernel<Causality<memory_order_release, memory_order_acquire>, 3>
    wrc("litmus.wrc", {.outcomes = "kept", .compare = true});
const model::Kernel<Causality<memory_order_relaxed, memory_order_acquire>, 3>
    wrc_r("litmus.wrc.relaxed", {.outcomes = "kept, lost", .compare = true});

/// Plain data behind a flag.
template <Order Store>
struct Plain {
    std::atomic<int> flag{0};
    int data = 0;
    void thread(unsigned i) {
        if (i == 0) {
            data = 1;
            flag.store(1, Store);
        } else if (flag.load(memory_order_acquire) == 1) {
            model::check(data == 1, "the data are not there");
        }
    }
};
const model::Kernel<Plain<memory_order_release>, 2> plain("litmus.plain", {});
const model::Kernel<Plain<memory_order_relaxed>, 2> plain_r("litmus.plain.race", {.must_fail = "a race"});

/// Who spins without saying so. As long as the other thread has not come to its store, each look is in vain, or moves a
/// counter; with `Comes` it comes to it, and the execution ends.
template <bool Comes, bool Counts>
struct Spins {
    std::atomic<int> flag{0}, counter{0};
    void thread(unsigned i) {
        if (i == 1) {
            flag.store(Comes ? 1 : 0, memory_order_relaxed);
            return;
        }
        while (flag.load(memory_order_relaxed) == 0) {
            if (Counts) {
                counter.fetch_add(1, memory_order_relaxed);
            }
        }
    }
    void finish() { model::outcome("the end"); }
};
const model::Kernel<Spins<true, false>, 2> spins("litmus.spins", {.steps = 80, .outcomes = "the end"});
const model::Kernel<Spins<true, true>, 2> spins_and_counts("litmus.spins.counts",
                                                           {.steps = 80, .outcomes = "the end"});
const model::Kernel<Spins<false, false>, 2> endless("litmus.endless",
                                                    {.must_fail = "a thread goes round for ever"});
const model::Kernel<Spins<false, true>, 2> endless_counts("litmus.endless.counts", {.must_fail = "no end"});

/// Each waits for the other one, without a lock.
struct Politely {
    std::atomic<int> at[2] = {0, 0};
    void thread(unsigned i) {
        at[i].store(1, memory_order_seq_cst);
        while (at[1 - i].load(memory_order_seq_cst) == 1) {
        }
        at[i].store(0, memory_order_seq_cst);
    }
};
const model::Kernel<Politely, 2> politely("litmus.endless.both",
                                          {.must_fail = "a thread goes round for ever"});

/// Memory that one thread unmaps, or moves elsewhere, and the other one uses afterwards.
template <bool Moves, bool Uses>
struct Unmapped {
    static constexpr std::size_t page = 4096;
    char *p = static_cast<char *>(platform::vm::map(page));
    std::atomic<char *> at{nullptr};
    Unmapped() { *p = 1; }
    void thread(unsigned i) {
        if (i == 1) {
            if (char *const now = at.load(memory_order_acquire)) {
                model::check(now[0] == 1 && now[page] == 0, "what was moved is not there");
                if (Uses) {
                    *p = 2;
                }
            }
            return;
        }
        auto *const to = static_cast<char *>(platform::vm::map(2 * page));
        if (Moves) {
            model::check(platform::vm::move(p, page, to, 2 * page), "it can not be moved");
        } else {
            *to = 1;
            platform::vm::unmap(p, page);
        }
        at.store(to, memory_order_release);
    }
};
const model::Kernel<Unmapped<true, false>, 2> moved("litmus.moved");
const model::Kernel<Unmapped<true, true>, 2> moved_used("litmus.moved.used",
                                                        {.must_fail = "memory that was unmapped"});
const model::Kernel<Unmapped<false, true>, 2> unmapped_used("litmus.unmapped",
                                                            {.must_fail = "memory that was unmapped"});

/// Programs by chance: three threads of two or three steps on two locations, in all orders. With reduction they have
/// the same outcomes as without.
struct Chance {
    std::atomic<int> at[2] = {0, 0};
    int seen[3][3] = {};
    std::uint64_t program;

    explicit Chance(const void *which) : program(reinterpret_cast<std::uintptr_t>(which)) {}

    static std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    void thread(unsigned i) {
        for (unsigned k = 0; k < 2 + (mix(program) >> i & 1); ++k) {
            const std::uint64_t bits = mix(program * 64 + i * 8 + k + 1);
            std::atomic<int> &place = at[bits & 1];
            const auto value = static_cast<int>(1 + i * 3 + k);
            switch (bits >> 8 & 15) {
            case 0:
                seen[i][k] = place.load(memory_order_seq_cst);
                break;
            case 1:
            case 2:
                seen[i][k] = place.load(memory_order_acquire);
                break;
            case 3:
            case 4:
                seen[i][k] = place.load(memory_order_relaxed);
                break;
            case 5:
                place.store(value, memory_order_seq_cst);
                break;
            case 6:
            case 7:
                place.store(value, memory_order_release);
                break;
            case 8:
            case 9:
                place.store(value, memory_order_relaxed);
                break;
            case 10:
                seen[i][k] = place.exchange(value, memory_order_relaxed);
                break;
            case 11: {
                int expected = 0;
                place.compare_exchange_strong(expected, value, memory_order_acq_rel, memory_order_relaxed);
                seen[i][k] = expected;
                break;
            }
            case 12:
                std::atomic_thread_fence(memory_order_seq_cst);
                break;
            case 13:
                std::atomic_thread_fence((bits >> 16 & 1) != 0 ? memory_order_acquire : memory_order_release);
                break;
            case 14:
                platform::heavy_fence();
                break;
            default:
                seen[i][k] = place.fetch_add(16, memory_order_acq_rel);
                break;
            }
        }
    }
    void finish() {
        int all[11];
        unsigned n = 0;
        for (const auto &row : seen) {
            for (const int one : row) {
                all[n++] = one;
            }
        }
        all[n++] = at[0].load();
        all[n++] = at[1].load();
        model::outcome_of(all, n);
    }
};
constexpr unsigned programs = 600, programs_of_a_short_run = 24;

struct Programs {
    Programs() {
        static char names[programs][24];
        static unsigned char room[programs][sizeof(model::Kernel<Chance, 3>)];
        for (unsigned i = 0; i < programs; ++i) {
            std::snprintf(names[i], sizeof names[i], "litmus.chance.%u", i);
            const bool insert = i % 4 == 3;
            new (room[i]) model::Kernel<Chance, 3>(names[i],
                                                   {.executions = 200'000,
                                                    .short_executions = 40'000,
                                                    .only_long = i >= programs_of_a_short_run,
                                                    .insert = insert,
                                                    .compare = true},
                                                   reinterpret_cast<const void *>(std::uintptr_t{i} + 1));
        }
    }
} const programs_by_chance;

} // namespace
