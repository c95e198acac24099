// SPDX-License-Identifier: MIT
//
// The malloc itself, of two or three threads: owner's paths against remote frees, visits, threads that end, and forks.
// At the end of each execution all blocks are freed and all heaps handed over, and nothing may be left.
#include "model.hpp"

#include <allocators/cairn.hpp>

#include <cstring>

using namespace cairn;

namespace {

struct Hooks {
    static bool attached() { return true; }
    static void grew() {}
    static void surplus() {}
    static void returned() {}
};

/// As the flagship, but for f and a slack of a few blocks, so that superblocks move soon. A superblock of the largest
/// class of one slot has eight blocks, and each two remote frees are a step, which is told.
using Discipline = Emptiness<16_KiB, 1, 3>;
using Classes = FlagshipClasses;
class Malloc : public OwnerRouted<Classes, Discipline, Hooks> {
    using Slow = Routes<Classes, Discipline, Hooks>;

public:
    void visit(unsigned i, bool retire) {
        if (retire) {
            visit_to_retire(Slow::levels_.registry(), *heaps[i]);
        } else {
            visit_to_settle(*heaps[i]);
        }
    }
    bool visit_wanted() { return Slow::levels_.visit_wanted(Slow::threads_.mine()); }
    WantedVisits &wanted() { return Slow::levels_.global().notices().wanted_visits(); }
    bool can_visit(unsigned i) { return static_cast<bool>(Visit<Heap>(*heaps[i])); }
    void attach(unsigned i) {
        void *const p = malloc(16);
        heaps[i] = Slow::threads_.mine();
        free(p);
        heaps[i]->give_empty();
    }
    /// As if whoever had the superblocks of the global heap were gone by a fork.
    void orphan() {
        auto &global = Slow::levels_.global();
        superblock::for_each(Slow::levels_.runs(), [&](OwnerLine *s) {
            if (s->place != Place::empty && RemoteWord{remote_of(s)->word.load()}.owner() == 0) {
                global.stock().take_out(s);
                global.orphan(s);
            }
        });
    }
    /// All blocks are freed and no thread has a heap: the accounts say so, of each heap and of the global one.
    void check_accounts() {
        for (Heap *const one : heaps) {
            model::check(one == nullptr || (one->holdings().used() == 0 && one->holdings().held() == 0),
                         "the account of a heap is wrong");
        }
        std::size_t empty = 0;
        superblock::for_each(Slow::levels_.runs(), [&](OwnerLine *s) {
            model::check(s->place == Place::empty, "a superblock is nowhere");
            empty += span_of(s);
        });
        model::check(Slow::levels_.global().stock().empty_bytes() == empty,
                     "the global heap's account is wrong");
    }
    Heap *heaps[model::most_threads] = {};
};

constexpr std::size_t size = 8_KiB;
constexpr unsigned of_one = 8; ///< blocks in a superblock

/// `Fence`: whether there is membarrier, as far as is known at the start. `Size`: of all blocks.
template <unsigned Threads, bool Fence = true, std::size_t Size = size>
struct Base {
    Malloc heap;
    void *blocks[2 * of_one] = {};
    unsigned count = 0;
    OwnerLine *superblocks[8] = {};

    Base() {
        platform::heavy_fence_missing_ = !Fence;
        for (unsigned i = 0; i < Threads; ++i) {
            model::as_thread(i, [&] { heap.attach(i); });
        }
    }
    /// What thread `i` does before the others are there, and is then in no section: visitors can have all that it has.
    template <class F>
    void before(unsigned i, F f) {
        model::as_thread(i, [&] {
            f();
            heap.heaps[i]->presence().end();
        });
    }
    /// Thread `i` has so many blocks more.
    void give(unsigned i, unsigned n) {
        before(i, [&] {
            for (; n > 0; --n) {
                void *const p = blocks[count++] = heap.malloc(Size);
                model::check(p != nullptr, "no memory");
                know(p);
                auto *const s = owner_line_of(first_line_at(address_of(p)));
                model::name(&remote_of(s)->word, "remote");
                model::name(&shared_of(s)->owner, "owner");
                model::name(&remote_of(s)->notify, "notify");
                model::name(&remote_of(s)->pending_next, "next");
                model::name(&heap.heaps[i]->presence(), "mark");
                model::name(reinterpret_cast<char *>(&heap.heaps[i]->presence()) + sizeof(void *), "lock");
            }
        });
    }
    static void use(void *p) { // as its program does
        model::check(p != nullptr, "no memory");
        static_cast<int *>(p)[4] += 1;
        static_cast<int *>(p)[Size / sizeof(int) - 1] += 1;
    }
    void free(unsigned block) {
        use(blocks[block]);
        void *const p = blocks[block];
        blocks[block] = nullptr;
        heap.free(p);
    }
    void malloc(unsigned block) { use(blocks[block] = heap.malloc(Size)); }
    /// Nobody has a block that another one has.
    void none_twice() {
        for (unsigned i = 0; i < 2 * of_one; ++i) {
            for (unsigned k = i + 1; k < 2 * of_one; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
    }
    /// And all come back.
    void finish() {
        none_twice();
        model::as_thread(0, [&] {
            for (void *&p : blocks) {
                if (p != nullptr) {
                    know(p);
                    heap.free(p);
                    p = nullptr;
                }
            }
        });
        for (unsigned i = 0; i < Threads; ++i) {
            model::as_thread(i, [&] { heap.detach(); });
        }
        for (const OwnerLine *const s : superblocks) {
            if (s != nullptr && Segment::of(s)->kind(Segment::of(s)->slot_of(s)) == SlotKind::superblock) {
                const RemoteWord word{remote_of(s)->word.load()};
                model::check(word.owner() == 0 && !word.queued(), "a superblock stays where no thread is");
                model::check(s->live() == word.count() && s->accounted == 0,
                             "a block that was freed is not free");
            }
        }
        heap.check_accounts();
    }
    /// Of a superblock of nobody, the last block that is freed brings it back.
    void none_forgotten() {
        for (const OwnerLine *const s : superblocks) {
            if (s != nullptr && Segment::of(s)->kind(Segment::of(s)->slot_of(s)) == SlotKind::superblock) {
                const RemoteWord word{remote_of(s)->word.load()};
                model::check(word.owner() != 0 || word.queued() || word.empty() || word.count() < s->live(),
                             "an empty superblock was forgotten");
            }
        }
    }
    void know(const void *p) {
        OwnerLine *const s = owner_line_of(first_line_at(address_of(p)));
        for (OwnerLine *&known : superblocks) {
            if (known == nullptr || known == s) {
                known = s;
                return;
            }
        }
    }
};

/// One superblock, full; others free some of its blocks while its owner looks for one.
struct RemoteAndMalloc : Base<2> {
    RemoteAndMalloc() { give(0, of_one); }
    void thread(unsigned i) {
        if (i == 0) {
            malloc(9);
        } else {
            free(0);
            free(1);
        }
    }
};
const model::Kernel<RemoteAndMalloc, 2> remote_malloc("flagship.remote.malloc", model::capped(3'000));

/// The same, while its owner frees some, looks around, and allocates.
struct RemoteAndFree : Base<2> {
    RemoteAndFree() {
        give(0, of_one + 1);
    } // with the last one it has seen that the first superblock is full
    void thread(unsigned i) {
        if (i == 0) {
            free(2);
            free(3);
            malloc(10);
        } else {
            free(0);
            free(1);
        }
    }
};
const model::Kernel<RemoteAndFree, 2> remote_free("flagship.remote.free", model::capped(3'000));

/// Two free into it; nobody else.
struct TwoRemote : Base<3> {
    TwoRemote() { give(2, 4); }
    void thread(unsigned i) {
        if (i < 2) {
            free(i);
            free(i + 2);
        }
    }
};
const model::Kernel<TwoRemote, 3> two_remote("flagship.remote.two", model::capped(3'000));

/// The owner ends meanwhile.
struct RemoteAndEnd : Base<2> {
    explicit RemoteAndEnd(unsigned live = 3) { give(0, live); }
    void thread(unsigned i) {
        if (i == 0) {
            heap.detach();
        } else {
            free(0);
            free(1);
        }
    }
};
const model::Kernel<RemoteAndEnd, 2> remote_end("flagship.remote.end", model::capped(3'000));

/// The heap of one that ends is the next one's at once; who sees to what it has left does so before, or not at all.
struct RemoteAndNext : RemoteAndEnd {
    void thread(unsigned i) {
        RemoteAndEnd::thread(i);
        if (i == 0) {
            malloc(9);
        }
    }
};
const model::Kernel<RemoteAndNext, 2> remote_next("flagship.remote.next", model::capped(12'000));

/// With the last blocks: nobody would come by again.
struct LastAndEnd : RemoteAndEnd {
    LastAndEnd() : RemoteAndEnd(2) {}
    void finish() {
        none_forgotten();
        Base<2>::finish();
    }
};
const model::Kernel<LastAndEnd, 2> last_end("flagship.remote.last", model::capped(3'000));

/// A superblock in the global heap: one frees into it, another one takes it.
template <unsigned Threads = 2>
struct RemoteAndAdopt : Base<Threads> {
    RemoteAndAdopt() {
        this->give(0, 4);
        this->before(0, [this] {
            this->heap.detach();
            this->heap.attach(0);
        });
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->free(0);
            this->free(1);
        } else {
            this->malloc(9);
        }
    }
};
const model::Kernel<RemoteAndAdopt<>, 2> remote_adopt("flagship.remote.adopt", model::capped(3'000));

/// The same, and the one that takes it has a heap that another thread had before.
struct RemoteAndHeir : RemoteAndAdopt<> {
    RemoteAndHeir() {
        this->before(1, [&] {
            heap.detach();
            heap.attach(1);
        });
    }
};
const model::Kernel<RemoteAndHeir, 2> remote_heir("flagship.remote.heir", model::capped(3'000));

/// The same, and the one that takes it gets its heap only then: who finds the heap's number in the word finds its
/// inbox.
struct RemoteAndFirst : RemoteAndAdopt<1> {
    void finish() {
        model::as_thread(1, [&] { heap.detach(); });
        RemoteAndAdopt::finish();
    }
};
const model::Kernel<RemoteAndFirst, 2> remote_first("flagship.remote.first", model::capped(3'000));

/// A full superblock of a thread that has ended. The next one begins with a free of one of its blocks, and gets the
/// heap with it; or with a malloc, and gives it away. Another thread frees blocks of it meanwhile.
template <bool Heir>
struct FullAndNext : Base<2> {
    FullAndNext() {
        give(0, of_one);
        before(0, [&] { heap.detach(); });
        model::check(RemoteWord{remote_of(superblocks[0])->word.load()}.owner() != 0, "it is not the heap's");
    }
    void thread(unsigned i) {
        if (i == 1) {
            free(0);
            free(1);
        } else if (Heir) {
            free(2);
            free(3);
            malloc(9);
        } else {
            malloc(9);
        }
    }
};
const model::Kernel<FullAndNext<true>, 2> full_and_heir("flagship.heir", model::capped(6'000));
const model::Kernel<FullAndNext<false>, 2> full_and_other("flagship.heir.none", model::capped(6'000));

/// One ends, and another one begins with frees of its blocks: the heap is the first one's still, or its own, or
/// nobody's.
struct EndAndHeir : Base<1> {
    EndAndHeir() { give(0, of_one); }
    void thread(unsigned i) {
        if (i == 0) {
            heap.detach();
        } else {
            free(0);
            free(1);
            malloc(9);
        }
    }
    void finish() {
        model::as_thread(1, [&] { heap.detach(); });
        Base<1>::finish();
    }
};
const model::Kernel<EndAndHeir, 2> end_and_heir("flagship.heir.end", model::capped(6'000));

/// A visitor, while the owner uses what it has: a quarter of a superblock, all of which was touched.
template <bool Retire, bool Free, bool Malloc, bool Fence = true, std::size_t Size = size>
struct VisitAndUse : Base<2, Fence, Size> {
    static constexpr unsigned kept = Size > size ? of_one - 2 : 0; ///< and the one behind it: the last slot's
    VisitAndUse() {
        this->give(0, of_one);
        this->before(0, [&] {
            for (unsigned i = 0; i < of_one; ++i) {
                if (i / 2 != kept / 2) {
                    this->free(i);
                }
            }
        });
    }
    void thread(unsigned i) {
        if (i == 1) {
            this->heap.visit(0, Retire);
            return;
        }
        if (Free) {
            this->free(kept);
        }
        if (Malloc) {
            this->malloc(9);
        }
    }
};
const model::Kernel<VisitAndUse<true, true, false>, 2> visit_free("flagship.visit.free",
                                                                  model::capped(3'000));
const model::Kernel<VisitAndUse<true, false, true>, 2> visit_malloc("flagship.visit.malloc",
                                                                    model::capped(3'000));
const model::Kernel<VisitAndUse<true, true, true>, 2>
    visit_both("flagship.visit.both", {.executions = 1'000'000, .short_executions = 2'000});
const model::Kernel<VisitAndUse<false, true, true>, 2> settle_both("flagship.settle.both",
                                                                   model::capped(2'000));
const model::Kernel<VisitAndUse<true, true, true>, 2>
    visit_refused("flagship.visit.no_membarrier",
                  {.executions = 400'000, .short_executions = 2'000, .refuse_fence = true});
const model::Kernel<VisitAndUse<true, true, true, false>, 2>
    fenced_both("flagship.fenced.visit",
                {.executions = 400'000, .short_executions = 2'000, .refuse_fence = true});
const model::Kernel<VisitAndUse<false, true, true, false>, 2>
    fenced_settle("flagship.fenced.settle",
                  {.executions = 400'000, .short_executions = 1'000, .refuse_fence = true});
const model::Kernel<VisitAndUse<true, true, false>, 2> muted_1("flagship.visit.free.no_fence",
                                                               {.mute_fence = 2, .must_fail = ""});
const model::Kernel<VisitAndUse<true, false, true>, 2> muted_2("flagship.visit.malloc.no_fence",
                                                               {.mute_fence = 2, .must_fail = ""});

/// The same of a superblock of two slots.
const model::Kernel<VisitAndUse<true, true, true, true, 2 * size>, 2> several_both("flagship.several.visit",
                                                                                   model::capped(3'000));
const model::Kernel<VisitAndUse<false, true, true, true, 2 * size>, 2>
    several_settle("flagship.several.settle", model::capped(2'000));
const model::Kernel<VisitAndUse<true, true, true, false, 2 * size>, 2>
    several_fenced("flagship.several.fenced",
                   {.executions = 400'000, .short_executions = 2'000, .refuse_fence = true});
const model::Kernel<VisitAndUse<true, true, false, true, 2 * size>, 2>
    muted_several("flagship.several.no_fence", {.mute_fence = 2, .must_fail = ""});

/// Four of eight blocks of a superblock are live, which is in no bin, and in which the owner has freed last. Another
/// free is not counted at once, so the owner needs no lock.
template <bool Free>
struct VisitAndRecent : Base<2, true, Classes::largest> {
    VisitAndRecent() {
        give(0, of_one + 1);
        before(0, [&] {
            for (unsigned i = 0; i < 4; ++i) {
                free(i);
            }
        });
        model::check(superblocks[0]->place == Place::partial, "it is in a bin");
    }
    void thread(unsigned i) {
        if (i == 1) {
            heap.visit(0, true);
            return;
        }
        if (Free) {
            free(4);
        }
        malloc(of_one + 2);
    }
};
const model::Kernel<VisitAndRecent<false>, 2> recent_malloc("flagship.recent.malloc", model::capped(3'000));
const model::Kernel<VisitAndRecent<true>, 2> recent_both("flagship.recent.both", {.executions = 1'000'000,
                                                                                  .short_executions = 3'000});
const model::Kernel<VisitAndRecent<true>, 2> recent_muted("flagship.recent.no_fence",
                                                          {.mute_fence = 2, .must_fail = ""});

/// Of two such superblocks the first one is the recent one, and a free shows the second one. A visiting thread takes
/// both, and counts what is not in use.
struct TakeRecent : Base<2, true, Classes::largest> {
    void *behind = nullptr;
    TakeRecent() {
        give(0, 2 * of_one);
        before(0, [&] {
            behind = heap.malloc(Classes::largest);
            for (unsigned i = 4; i > 0; --i) {
                free(of_one + i - 1);
            }
            for (unsigned i = 4; i > 0; --i) {
                free(i - 1);
            }
        });
        model::check(superblocks[1]->place == Place::partial, "it is in a bin");
    }
    void thread(unsigned i) {
        if (i == 0) {
            free(of_one + 4);
            malloc(0);
            return;
        }
        Malloc::Heap &visited = *heap.heaps[0];
        if (!visited.presence().try_visit()) {
            return;
        }
        Taking<Malloc::Heap> taking(visited);
        taking.take(superblocks[0]);
        taking.take(superblocks[1]);
        taking.find_owner();
        taking.keep_if([&](OwnerLine *s, unsigned) {
            if (!taking.in_use(s)) {
                visited.holdings().relink(s);
            }
            taking.put_back(s);
            return false;
        });
        visited.presence().end_visit();
    }
    void finish() {
        before(0, [&] { heap.free(behind); });
        Base::finish();
    }
};
const model::Kernel<TakeRecent, 2> take_recent("flagship.recent.take",
                                               {.executions = 1'000'000, .short_executions = 20'000});

/// Blocks of which four make a chain (Gathering): one was freed and one is in a chain when a visitor comes, while the
/// thread adds to it.
constexpr std::size_t gathered_size = 1_KiB;
template <bool Fence>
struct GatherAndVisit : Base<2, Fence, gathered_size> {
    GatherAndVisit() {
        this->give(0, 6);
        this->before(1, [&] {
            this->free(0);
            this->free(1);
        });
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->heap.visit(1, true);
        } else {
            this->free(2);
            this->free(3);
        }
    }
};
const model::Kernel<GatherAndVisit<true>, 2> gather_visit("flagship.gather.visit", model::capped(3'000));
const model::Kernel<GatherAndVisit<true>, 2> gather_muted("flagship.gather.visit.no_fence",
                                                          {.mute_fence = 1, .must_fail = ""});
/// Blocks of which two make a chain, one of them in a chain, which the visitor gives back: with it a step is full, and
/// the owner is told.
constexpr std::size_t paired_size = 2_KiB;
struct GatherAndStep : Base<2, true, paired_size> {
    static constexpr unsigned step = Discipline::remote_step_of(slot_size / paired_size);
    static_assert(step % 2 == 0 && step < 2 * of_one);
    GatherAndStep() {
        give(0, step + 1);
        this->before(1, [&] {
            for (unsigned i = 0; i < step; ++i) {
                free(i); // the first one is in no chain
            }
        });
    }
    void thread(unsigned i) {
        if (i == 0) {
            heap.visit(1, true);
        } else {
            malloc(of_one + 2);
        }
    }
};
const model::Kernel<GatherAndStep, 2> gather_step("flagship.gather.step", model::capped(1'000));
/// Where there is no membarrier, nothing is gathered.
const model::Kernel<GatherAndVisit<false>, 2>
    fenced_gather("flagship.fenced.gather",
                  {.executions = 400'000, .short_executions = 1'000, .refuse_fence = true});

/// The thread and the owner of the blocks both end.
struct GatherAndEnd : Base<2, true, gathered_size> {
    GatherAndEnd() { give(0, 3); }
    void thread(unsigned i) {
        if (i == 1) {
            free(0);
            free(1);
            free(2);
        }
        heap.detach();
    }
    void finish() {
        none_forgotten();
        Base::finish();
    }
};
const model::Kernel<GatherAndEnd, 2> gather_end("flagship.gather.end", model::capped(3'000));

/// Remote frees after which a thread whose heap grows visits the owner, while that one frees and allocates.
template <bool Fence>
struct RemoteAndVisit : Base<2, Fence> {
    RemoteAndVisit() {
        this->give(0, of_one);
        this->before(1, [&] {
            for (unsigned i = 0; i < 3; ++i) {
                this->free(i);
            }
        });
    }
    void thread(unsigned i) {
        if (i == 1) {
            this->malloc(9);
        } else {
            this->free(3);
            this->malloc(10);
        }
    }
};
const model::Kernel<RemoteAndVisit<true>, 2> remote_visit("flagship.remote.visit", model::capped(2'000));
const model::Kernel<RemoteAndVisit<false>, 2>
    fenced_remote("flagship.fenced.remote",
                  {.executions = 400'000, .short_executions = 1'000, .refuse_fence = true});

/// There was membarrier and is no more. The owner comes by, then a visitor gets in, though it met nobody before.
struct LateAndVisit : Base<2> {
    bool in = false;
    LateAndVisit() { give(0, of_one); }
    void thread(unsigned i) {
        if (i == 1) {
            heap.visit(0, true);
            in = heap.can_visit(0);
        } else {
            malloc(9);
            free(0);
            free(9);
        }
    }
    void finish() {
        model::outcome(in ? "visited" : "not visited");
        Base<2>::finish();
    }
};
const model::Kernel<LateAndVisit, 2> late_visit("flagship.fenced.later",
                                                {.executions = 400'000,
                                                 .short_executions = 2'000,
                                                 .refuse_fence = true,
                                                 .outcomes = "not visited, visited"});

/// A visitor that takes a notice in and puts the superblock back, whose owner uses it then.
template <std::size_t Size>
struct VisitAndNotice : Base<2, true, Size> {
    VisitAndNotice() {
        this->give(0, of_one);
        this->before(1, [&] {
            this->free(0);
            this->free(1);
        });
    }
    void thread(unsigned i) {
        if (i == 1) {
            this->heap.visit(0, false);
        } else {
            this->free(of_one - 1);
        }
    }
};
const model::Kernel<VisitAndNotice<size>, 2> visit_notice("flagship.visit.notice", model::capped(3'000));
const model::Kernel<VisitAndNotice<2 * size>, 2> several_notice("flagship.several.notice",
                                                                model::capped(3'000));

/// The same of one that is the emptiest besides: it is looked at once.
struct VisitAndTold : Base<2> {
    VisitAndTold() {
        give(0, of_one + 1);
        this->before(0, [&] {
            for (unsigned i = 0; i < 4; ++i) {
                free(i);
            }
        });
        this->before(1, [&] {
            free(4);
            free(5);
        });
    }
    void thread(unsigned i) {
        if (i == 1) {
            heap.visit(0, true);
        } else {
            free(of_one - 1);
        }
    }
};
const model::Kernel<VisitAndTold, 2> visit_told("flagship.visit.told", model::capped(2'000));

/// Visitors, and an owner that ends.
template <bool Fence>
struct VisitAndEnd : Base<3, Fence> {
    VisitAndEnd() {
        this->give(0, 3);
        this->before(0, [&] { this->free(2); });
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->heap.detach();
        } else {
            this->heap.visit(0, i == 1);
        }
    }
};
const model::Kernel<VisitAndEnd<true>, 3> visit_end("flagship.visit.end", model::capped(2'000));
const model::Kernel<VisitAndEnd<false>, 3> fenced_end("flagship.fenced.end", {.executions = 400'000,
                                                                              .short_executions = 1'000,
                                                                              .refuse_fence = true});

/// An owner that ends leaves a full superblock with its heap. Another thread frees as many blocks of it as are told of,
/// and visits the heap, perhaps after the owner has looked at the superblock for the last time, and before the heap is
/// unowned.
struct FullAndEnd : Base<2> {
    FullAndEnd() { give(0, of_one); }
    void thread(unsigned i) {
        if (i == 0) {
            heap.detach();
        } else {
            free(0);
            free(1);
            heap.visit(0, true);
        }
    }
    void finish() {
        const RemoteWord word{remote_of(superblocks[0])->word.load()};
        model::check(word.owner() == 0 && !word.queued(),
                     "a superblock with free blocks stays where no thread is");
        Base<2>::finish();
    }
};
const model::Kernel<FullAndEnd, 2> full_end("flagship.visit.end.full", model::capped(6'000));

/// Two threads look for heaps to visit at one time: heap 0, into which thread 1 has freed much. Its own thread does
/// what `Owner` says, and thread 1 frees more of it before it looks, if it `Frees`.
enum class Does : unsigned char { nothing, free, end };
template <unsigned Threads>
struct Wanted : Base<Threads> {
    /// A heap that owes much has been visited, or is on the list still, once: nobody who was on the way to it has
    /// forgotten it.
    void finish() {
        unsigned on_list[Threads] = {};
        unsigned all = 0;
        for (Inbox *inbox = nullptr; (inbox = this->heap.wanted().take()) != nullptr;) {
            model::check(++all <= Threads, "a heap is on the list more than once");
            for (unsigned i = 0; i < Threads; ++i) {
                on_list[i] += inbox->heap == this->heap.heaps[i] ? 1 : 0;
            }
        }
        for (unsigned i = 0; i < Threads; ++i) {
            Inbox &inbox = this->heap.heaps[i]->inbox();
            model::check(inbox.freed() < Discipline::slack || on_list[i] == 1 || inbox.is_unowned(),
                         "a heap that owes much was forgotten");
            model::check(on_list[i] <= 1, "a heap is on the list twice");
        }
        Base<Threads>::finish();
    }
};
template <Does Owner, bool Frees>
struct WantedByTwo : Wanted<3> {
    WantedByTwo() {
        give(0, of_one);
        this->before(1, [&] {
            for (unsigned i = 0; i < 4; ++i) {
                free(i);
            }
        });
        model::check(!heap.wanted().empty(), "nobody wants a visit");
    }
    void thread(unsigned i) {
        if (i == 0) {
            if (Owner == Does::free) {
                free(of_one - 1);
            } else if (Owner == Does::end) {
                heap.detach();
            }
            return;
        }
        if (Frees && i == 1) {
            free(4);
            free(5);
        }
        while (heap.visit_wanted()) {
        }
    }
};
const model::Kernel<WantedByTwo<Does::nothing, false>, 3> wanted_by_two("flagship.wanted",
                                                                        model::capped(6'000));
const model::Kernel<WantedByTwo<Does::nothing, true>, 3> wanted_again("flagship.wanted.again",
                                                                      model::capped(3'000));
const model::Kernel<WantedByTwo<Does::free, false>, 3> wanted_free("flagship.wanted.free",
                                                                   model::capped(3'000));
const model::Kernel<WantedByTwo<Does::end, false>, 3> wanted_end("flagship.wanted.end", model::capped(3'000));

/// Heap 0 is on the list still, though its thread has come by since; then others free much into it again. Who takes it
/// off the list at that time sees that, or they put it there anew.
struct WantedStill : Wanted<3> {
    WantedStill() {
        give(0, of_one);
        this->before(1, [&] {
            for (unsigned i = 0; i < 4; ++i) {
                free(i);
            }
        });
        this->before(0, [&] { heap.heaps[0]->holdings().empty_inbox(); });
        model::name(&heap.heaps[0]->inbox().wanted, "wanted");
    }
    void thread(unsigned i) {
        if (i == 1) {
            free(4);
            free(5);
        } else if (i == 2) {
            heap.visit_wanted();
        }
    }
};
const model::Kernel<WantedStill, 3> wanted_still("flagship.wanted.still", model::capped(6'000));

/// Each of two threads owes, and wants to visit the other one; its own heap it leaves on the list.
struct WantedBoth : Wanted<2> {
    WantedBoth() {
        give(0, of_one);
        give(1, of_one);
        this->before(1, [&] {
            for (unsigned i = 0; i < 4; ++i) {
                free(i);
            }
        });
        this->before(0, [&] {
            for (unsigned i = of_one; i < of_one + 4; ++i) {
                free(i);
            }
        });
    }
    void thread(unsigned) {
        while (heap.visit_wanted()) {
        }
    }
};
const model::Kernel<WantedBoth, 2> wanted_both("flagship.wanted.both", model::capped(3'000));

/// Fork: the thread that forks is alone with the memory as the others have left it, at any step of theirs.
template <bool Visitor, bool Fence = true>
struct Fork : Base<2, Fence> {
    using Base<2, Fence>::blocks, Base<2, Fence>::heap;
    Fork() {
        this->give(0, 3);
        this->give(1, 2);
        this->before(0, [&] { this->free(2); });
    }
    bool lost[2 * of_one] = {};
    void thread(unsigned i) {
        if (i == 1) {
            if (Visitor) {
                heap.visit(0, true);
            } else {
                this->free(0);
                this->malloc(9);
                this->free(3);
            }
            return;
        }
        model::fork_alone();
        heap.repair_after_fork();
        this->malloc(10);
        this->free(1);
        this->malloc(11);
    }
    /// What the other one was about to hand out or take back may leak.
    void finish() { this->none_twice(); }
};
const model::Kernel<Fork<false>, 2> fork_in_heap("flagship.fork", model::capped(2'000));
const model::Kernel<Fork<true>, 2> fork_in_visit("flagship.fork.visitor", model::capped(2'000));
const model::Kernel<Fork<true, false>, 2> fenced_fork("flagship.fenced.fork", {.executions = 400'000,
                                                                               .short_executions = 1'000,
                                                                               .refuse_fence = true});

/// What a fork has left without an owner is adopted by one thread, that needs it or not, while another one frees its
/// blocks.
template <bool Needed>
struct Orphaned : Base<2> {
    Orphaned() {
        give(0, 6);
        before(0, [&] { free(2); });
        before(1, [&] { free(3); });
        model::as_thread(0, [&] {
            heap.detach();
            heap.attach(0);
            heap.orphan();
        });
    }
    void thread(unsigned i) {
        if (i == 1) {
            free(0);
            free(1);
            free(4);
            Needed ? void() : free(5);
        } else if (Needed) {
            malloc(9);
            malloc(10);
        } else {
            heap.free(heap.malloc(size / 2));
        }
    }
    void finish() {
        none_forgotten();
        Base::finish();
    }
};
const model::Kernel<Orphaned<true>, 2> orphaned("flagship.orphaned", model::capped(3'000));
const model::Kernel<Orphaned<false>, 2> orphaned_for_others("flagship.orphaned.others", model::capped(3'000));

/// A fork while a thread adds to a chain. What of it is sound is not lost, and nothing is free twice. Where it gives
/// the chain back, that may be on its own in the list, or in front of others.
template <bool Alone>
struct GatherAndFork : Base<2, true, gathered_size> {
    GatherAndFork() {
        give(0, 5);
        this->before(1, [&] {
            free(0);
            free(1);
        });
        if (Alone) {
            give(0, 4); // the last one is what was in the list
        }
    }
    void thread(unsigned i) {
        if (i == 1) {
            free(2);
            free(3);
            Alone ? free(4) : void();
            return;
        }
        model::fork_alone();
        heap.repair_after_fork();
        for (unsigned k = 9; k < 2 * of_one; ++k) {
            malloc(k);
        }
    }
    void finish() { this->none_twice(); }
};
const model::Kernel<GatherAndFork<false>, 2> gather_fork("flagship.gather.fork", model::capped(2'000));
const model::Kernel<GatherAndFork<true>, 2> gather_fork_alone("flagship.gather.fork.alone",
                                                              model::capped(2'000));

/// The inbox alone. Who closes a heap and who tells it of a superblock: one of them sees the other. And what was pushed
/// is taken, with what was behind it.
template <bool Close>
struct InboxKernel : Base<2> {
    Inbox inbox;
    OwnerLine *first = nullptr, *second = nullptr;
    unsigned tended = 0, taken = 0;

    InboxKernel() {
        give(0, of_one + 1);
        first = superblocks[0];
        second = superblocks[1];
    }
    void take() {
        for (OwnerLine *s = inbox.take(); s != nullptr;
             s = remote_of(s)->pending_next.load(std::memory_order_relaxed)) {
            ++taken;
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            inbox.push(first);
            if (Close) {
                tended |= inbox.is_unowned() ? 1 : 0;
            } else {
                inbox.push(second);
            }
        } else if (Close) {
            inbox.set_unowned(true);
            seen = !inbox.empty();
        } else {
            take();
        }
    }
    bool seen = false;
    void finish() {
        if (Close) {
            model::check(seen || tended != 0, "nobody tends the heap");
        }
        take();
        model::check(taken == (Close ? 1 : 2), "a superblock is lost");
    }
};
const model::Kernel<InboxKernel<true>, 2> inbox_close("flagship.inbox.close");
const model::Kernel<InboxKernel<false>, 2> inbox_take("flagship.inbox.take");

/// The thresholds alone. With fewer live blocks than a step: who frees the last one tells somebody, or who lets the
/// superblock go has seen it free, and uses its memory.
struct LetGo : Base<2> {
    bool told = false;
    LetGo() { give(0, 1); }
    void thread(unsigned i) {
        OwnerLine *const s = superblocks[0];
        if (i == 1) {
            use(blocks[0]);
            told = superblock::free_remote(s, address_of(blocks[0])).is_notice();
        } else if (Notices<Discipline>::let_go(s, false) && s->accounted == 0) {
            std::memset(blocks[0], 0, size);
        }
    }
    void finish() { model::check(told || superblocks[0]->accounted == 0, "the last block tells nobody"); }
};
const model::Kernel<LetGo, 2> let_go("flagship.notice.let_go");

/// A superblock of nobody goes to a heap that was not known before, and two free into it: who finds the heap's number
/// in the word, in whatever way, finds its inbox.
struct NumberAndInbox : Base<1> {
    static constexpr unsigned number = 7;
    Inbox inbox;
    OwnerLine *s = nullptr;

    NumberAndInbox() {
        give(0, 4);
        s = superblocks[0];
        model::as_thread(0, [&] {
            heap.detach();
            heap.attach(0);
        });
        superblock::free_remote(s, address_of(blocks[3]));
    }
    auto &global() { return heap.heaps[0]->holdings().global(); }
    void free_one(unsigned block) {
        const auto told = superblock::free_remote(s, address_of(blocks[block]));
        if (told.kind != told.nothing && told.word.owner() != 0) {
            model::check(global().notices().inbox(told.word.owner()) == &inbox, "a number without a inbox");
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            free_one(0);
        } else if (i == 1) {
            free_one(1);
            free_one(2);
        } else {
            global().notices().inboxes().set(number, &inbox);
            model::check(global().acquire(s->size_class, number, &inbox) == s,
                         "it is not in the global heap");
        }
    }
    void finish() {}
};
const model::Kernel<NumberAndInbox, 3> number_and_inbox("flagship.notice.number");

/// The owner takes two notices in, one after the other; meanwhile one of the two superblocks goes into the inbox again,
/// and the other one must not be forgotten.
struct TakeAndTell : Base<2> {
    TakeAndTell() : TakeAndTell(8, 12) {}
    TakeAndTell(unsigned first, unsigned end) {
        give(0, 2 * of_one);
        model::as_thread(1, [&] {
            for (unsigned i = first; i < end; ++i) {
                free(i % (of_one + 2)); // two of the second superblock, and of the first
            }
        });
    }
    void thread(unsigned i) {
        if (i == 0) {
            heap.heaps[0]->holdings().empty_inbox();
        } else {
            free(2);
            free(3);
        }
    }
    void finish() {
        heap.heaps[0]->holdings().empty_inbox();
        for (OwnerLine *const s : superblocks) {
            model::check(s == nullptr || !RemoteWord{remote_of(s)->word.load()}.queued(), "a notice is lost");
        }
    }
};
const model::Kernel<TakeAndTell, 2> take_and_tell("flagship.inbox.again", {.late = true});

/// The same with two that tell: the second one finds the word as it was, after the first one's notice was taken in.
struct TakeAndTellTwice : TakeAndTell {
    TakeAndTellTwice() : TakeAndTell(8, 10) {
        superblock::note_freed_by_others(superblocks[0]); // as earlier frees would have: fewer executions
    }
    void thread(unsigned i) {
        if (i == 0) {
            heap.heaps[0]->holdings().empty_inbox();
        } else if (i == 1) {
            free(0);
            free(1);
        } else {
            free(2);
        }
    }
};
const model::Kernel<TakeAndTellTwice, 3>
    take_and_tell_twice("flagship.inbox.again.two",
                        {.executions = 400'000, .short_executions = 20'000, .late = true});

/// Behind a threshold that was high, the owner takes the list, and a step later it has to be told.
struct TakeAndStep : Base<2> {
    TakeAndStep() {
        give(0, of_one);
        push(0, 4);
        Notices<Discipline>::acknowledge(superblocks[0]);
    }
    void push(unsigned first, unsigned end) {
        for (unsigned i = first; i < end; ++i) {
            superblock::free_remote(superblocks[0], address_of(blocks[i]));
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            superblock::take_remote(superblocks[0]);
        } else {
            push(4, 6);
        }
    }
    void finish() {
        const RemoteWord word{remote_of(superblocks[0])->word.load()};
        model::check(word.count() < 2 || word.queued(), "nobody is told of a step");
    }
};
const model::Kernel<TakeAndStep, 2> take_and_step("flagship.notice.step");

/// An owner without memory looks at a superblock: either it sees the remote free, or it gets a notice of it.
struct LookAndFree : Base<2> {
    LookAndFree() { give(0, of_one); }
    void thread(unsigned i) {
        if (i == 1) {
            superblock::free_remote(superblocks[0], address_of(blocks[0]));
        } else if (Notices<Discipline>::tell_of_next_free(superblocks[0])) {
            seen_ = true;
            model::check(superblock::has_remote_frees(superblocks[0]),
                         "the owner does not ask for remote frees");
        }
    }
    void finish() {
        const RemoteWord word{remote_of(superblocks[0])->word.load()};
        model::check(seen_ || word.queued(), "nobody is told of a free");
    }

private:
    bool seen_ = false;
};
const model::Kernel<LookAndFree, 2> look_and_free("flagship.notice.look");

/// A visitor takes the superblock that malloc finds, uses it, and puts it back: what it did is seen by who finds it
/// again.
struct PutBack : Base<2> {
    PutBack() {
        give(0, 3);
        this->before(0, [&] {
            free(1);
            free(2);
        });
    }
    void thread(unsigned i) {
        if (i == 0) {
            malloc(9);
            return;
        }
        Malloc::Heap &visited = *heap.heaps[0];
        if (!visited.presence().try_visit()) {
            return;
        }
        OwnerLine *const s = superblocks[0];
        Taking taking(visited);
        taking.take(s);
        taking.find_owner();
        if (!taking.in_use(s)) {
            superblock::push(s, address_of(superblock::pop(s, span_of(s))));
        }
        taking.put_back(s);
        visited.presence().end_visit();
    }
};
const model::Kernel<PutBack, 2> put_back("flagship.visit.put_back");

/// Segments are walked while there are new ones.
struct Walk {
    AddressSpace space;
    Segments segments;
    Walk() { segments.grow(space, 1, 1, 0, Segments::From::both, window_size); }
    void thread(unsigned i) {
        if (i == 0) {
            // Of another stripe: a new segment.
            model::check(segments.grow(space, 1, 1, 1, Segments::From::both, window_size) != nullptr,
                         "no memory");
            return;
        }
        unsigned count = 0;
        segments.for_each([&](const Segment &s) {
            model::check(s.kind(0) == SlotKind::metadata, "a segment that is not made");
            ++count;
        });
        model::check(count == 1 || count == 2, "a segment is lost");
    }
};
const model::Kernel<Walk, 2> walk("flagship.segments");

} // namespace
