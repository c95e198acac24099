// SPDX-License-Identifier: MIT
//
// Presence: owner and visitors of sync/presence.hpp, V1 to V8 against O1 to O4 of docs/visits.md. Without either heavy
// fence a failure is found.
#include "model.hpp"

#include <cairn/sync/presence.hpp>

using namespace cairn;

namespace {

/// What a heap is here: its presence, a superblock that says whose it is, a bin, and what only slow paths touch. Plain
/// data stand for what each of them protects: two threads in there at one time are a race.
struct Heap {
    static constexpr sync::Presence::Thing the_bin = 0;
    sync::Presence presence;
    std::atomic<void *> owner{nullptr};
    std::atomic<int *> bin{nullptr};
    int block = 0;    ///< the superblock's lists
    int contents = 0; ///< the heap's account and lists
    int nothing = 0;
    bool hidden = false; ///< the fast paths find neither superblock nor bin

    Heap() {
        show();
        model::name(&presence, "mark");
        model::name(reinterpret_cast<char *>(&presence) + sizeof(void *), "lock");
        model::name(&owner, "owner");
        model::name(&bin, "bin");
        model::name(&block, "the superblock");
        model::name(&contents, "the heap");
    }

    void *name() { return hidden ? static_cast<void *>(&hidden) : this; }
    void show() {
        owner.store(name(), std::memory_order_release);
        bin.store(hidden ? &nothing : &block, std::memory_order_release);
    }
    /// In a long section, or before there is anybody.
    void hide() {
        hidden = true;
        show();
        presence.fence_from_now_on();
    }

    void free_fast() {
        presence.begin(&block);
        if (owner.load(std::memory_order_acquire) == this) {
            ++block;
        }
    }
    /// As a free of a long superblock.
    void free_and_end() {
        free_fast();
        presence.end();
    }
    void malloc_fast() {
        presence.begin(the_bin);
        if (int *const s = bin.load(std::memory_order_acquire); s != &nothing) {
            ++*s;
        }
    }
    /// Another bin, which is empty.
    void malloc_elsewhere() { presence.begin(the_bin + 1); }
    void slow() {
        const sync::Inside inside(presence);
        ++contents;
        if (owner.load(std::memory_order_acquire) == name()) {
            ++block;
        }
    }

    /// True if the superblock was had.
    bool visit(bool keep) {
        if (!presence.try_visit()) {
            return false;
        }
        ++contents;
        owner.store(nullptr, std::memory_order_relaxed);
        bin.store(&nothing, std::memory_order_release);
        sync::Presence::Thing at = sync::Presence::nothing;
        const bool in_use = !presence.owner_uses(at) || at == address_of(&block) || at == the_bin;
        if (!in_use) {
            ++block;
        }
        if (in_use || !keep) {
            show();
        }
        presence.end_visit();
        return !in_use;
    }
};

enum class Path : unsigned char { free, free_and_end, malloc, elsewhere, slow };

template <Path First, Path Second, bool Keep, unsigned Visitors = 1>
struct Visited : Heap {
    void path(Path p) {
        switch (p) {
        case Path::free:
            return free_fast();
        case Path::free_and_end:
            return free_and_end();
        case Path::malloc:
            return malloc_fast();
        case Path::elsewhere:
            return malloc_elsewhere();
        case Path::slow:
            return slow();
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            path(First);
            path(Second);
        } else {
            visit(Keep);
        }
    }
};

constexpr Path f = Path::free, l = Path::free_and_end, m = Path::malloc, e = Path::elsewhere, s = Path::slow;

const model::Kernel<Visited<f, f, true>, 2> take_free("presence.free.taken");
const model::Kernel<Visited<f, f, false>, 2> back_free("presence.free.put_back");
const model::Kernel<Visited<l, l, true>, 2> take_long("presence.free_and_end.taken");
const model::Kernel<Visited<l, f, false>, 2> back_long("presence.free_and_end.put_back");
const model::Kernel<Visited<m, m, true>, 2> take_malloc("presence.malloc.taken");
const model::Kernel<Visited<m, m, false>, 2> back_malloc("presence.malloc.put_back");
const model::Kernel<Visited<e, m, true>, 2> take_elsewhere("presence.elsewhere.taken");
const model::Kernel<Visited<m, e, false>, 2> back_elsewhere("presence.elsewhere.put_back");
const model::Kernel<Visited<s, s, true>, 2> take_slow("presence.slow.taken");
const model::Kernel<Visited<s, s, false>, 2> back_slow("presence.slow.put_back");
const model::Kernel<Visited<s, f, false>, 2> back_mixed("presence.slow_free.put_back");
const model::Kernel<Visited<m, s, false>, 2> back_mixed_2("presence.malloc_slow.put_back");
const model::Kernel<Visited<f, m, true>, 3> two_visitors("presence.two_visitors", model::capped(20'000));
const model::Kernel<Visited<s, f, false>, 3> two_visitors_2("presence.two_visitors.put_back",
                                                            model::capped(20'000));

// Without one of the two fences; membarrier refused; the owner alone.
const model::Kernel<Visited<s, s, true>, 2> no_first("presence.no_first_fence",
                                                     {.mute_fence = 1, .must_fail = "a race"});
const model::Kernel<Visited<f, f, true>, 2> no_second("presence.no_second_fence.free",
                                                      {.mute_fence = 2, .must_fail = "a race"});
const model::Kernel<Visited<m, m, true>, 2> no_second_m("presence.no_second_fence.malloc",
                                                        {.mute_fence = 2, .must_fail = "a race"});

struct Refused : Visited<f, s, true> {
    void finish() { model::check(owner.load() == this && bin.load() == &block, "taken without a fence"); }
};
const model::Kernel<Refused, 2> refused("presence.no_membarrier", {.refuse_fence = true});

/// No membarrier, and the owner passes fences: from the start, or from its first slow path on. Visitors get in.
template <Path First, Path Second, bool FromStart, unsigned Visitors = 1>
struct Fenced : Visited<First, Second, false> {
    bool had[1 + Visitors] = {};
    Fenced() {
        if (FromStart) {
            this->hide();
        }
    }
    void thread(unsigned i) {
        if (i != 0) {
            had[i] = this->visit(false);
            return;
        }
        this->path(First);
        if (!FromStart) {
            const sync::Inside inside(this->presence);
            ++this->contents;
            this->hide();
        }
        this->path(Second);
    }
    void finish() {
        bool any = false;
        for (const bool one : had) {
            any = any || one;
        }
        model::outcome(any ? "visited" : "not visited");
    }
};
constexpr const char *both = "not visited, visited";
const model::Kernel<Fenced<s, s, true>, 2> fenced_slow("presence.fenced.slow",
                                                       {.refuse_fence = true, .outcomes = both});
const model::Kernel<Fenced<f, s, true>, 2> fenced_free("presence.fenced.free_slow",
                                                       {.refuse_fence = true, .outcomes = both});
const model::Kernel<Fenced<s, m, true>, 2> fenced_malloc("presence.fenced.slow_malloc",
                                                         {.refuse_fence = true, .outcomes = both});
const model::Kernel<Fenced<f, s, false>, 2> fenced_later("presence.fenced.later",
                                                         {.refuse_fence = true, .outcomes = both});
const model::Kernel<Fenced<s, s, false>, 2> fenced_granted("presence.fenced.granted", {.outcomes = both});
const model::Kernel<Fenced<s, f, true, 2>, 3>
    fenced_two("presence.fenced.two_visitors",
               {.executions = 400'000, .short_executions = 10'000, .refuse_fence = true, .outcomes = both});

/// Nobody waits for an owner that has stopped inside, or in a section: visitors give up.
struct Stopped : Heap {
    bool had = false;
    void thread(unsigned i) {
        if (i == 0) {
            if (model::choose(2) == 0) {
                presence.enter();
                ++contents;
            } else {
                presence.begin(&block);
                if (owner.load(std::memory_order_acquire) == this) {
                    ++block;
                }
            }
        } else {
            had = visit(true);
        }
    }
};
const model::Kernel<Stopped, 2> stopped("presence.stopped_owner");

/// The lock itself: looks, sleeps, is woken.
struct Locked {
    sync::Lock lock{sync::Rank::leaf};
    int inside = 0;
    void thread(unsigned) {
        const sync::Guard hold(lock);
        ++inside;
    }
    void finish() { model::check(inside == 2 || inside == 3, "a step is lost"); }
};
const model::Kernel<Locked, 2> lock("lock", {.spins_out = true});
const model::Kernel<Locked, 3> lock_3("lock.three",
                                      {.executions = 300'000, .short_executions = 10'000, .spins_out = true});

struct TriedLock {
    sync::Lock lock{sync::Rank::leaf};
    int inside = 0;
    void thread(unsigned i) {
        if (i == 0 ? lock.try_lock() : (lock.lock(), true)) {
            ++inside;
            lock.unlock();
        } else if (!lock.held()) {
            model::check(inside == 1, "what the other one did is not seen");
        }
    }
};
const model::Kernel<TriedLock, 2> tried_lock("lock.tried");

} // namespace
