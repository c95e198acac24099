// SPDX-License-Identifier: MIT
//
// What ties the malloc to a process, src/malloc's own sources: the purger against threads that free, its start, the key
// by which the end of a thread is known, the ties of those whose end it does not tell, fork; and the numbers of
// threads. pthread's functions are these here.
#include "model.hpp"

#include <cairn/platform/thread_id.hpp>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <pthread.h>
#include <sys/prctl.h>

namespace {

/// Keys, threads and robust mutexes as pthread has them, as far as they are used. Nothing here puts threads in order
/// but the start of one, and a mutex, with the mark that the kernel leaves in it when its holder is gone.
namespace pthread {

constexpr unsigned most_keys = 4;
std::atomic<unsigned> keys{0};
std::atomic<void (*)(void *)> ends[most_keys] = {};
std::atomic<unsigned> handlers{0};
std::atomic<unsigned> begun{0};
unsigned refusals = 0; ///< how often nothing can be had
thread_local void *values[most_keys] = {};

bool refused() {
    return refusals != 0 && refusals-- != 0;
}
int make_key(pthread_key_t *key, void (*end)(void *)) {
    if (refused()) {
        return 1;
    }
    const unsigned mine = keys.fetch_add(1, std::memory_order_relaxed);
    ends[mine].store(end, std::memory_order_relaxed);
    *key = mine + 1;
    return 0;
}
void delete_key(pthread_key_t key) {
    cairn::model::check(ends[key - 1].exchange(nullptr, std::memory_order_relaxed) != nullptr,
                        "deleted twice");
}
int set(pthread_key_t key, const void *value) {
    cairn::model::check(key >= 1 && key <= keys.load(std::memory_order_relaxed), "a key that was not made");
    values[key - 1] = const_cast<void *>(value);
    return 0;
}
void *get(pthread_key_t key) {
    return values[key - 1];
}
/// The end of the calling thread.
void end() {
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
        for (unsigned i = 0; i < most_keys; ++i) {
            if (void *const value = values[i]; value != nullptr) {
                values[i] = nullptr;
                ends[i].load(std::memory_order_relaxed)(value);
            }
        }
    }
}
int at_fork(void (*)(), void (*)(), void (*)()) {
    handlers.fetch_add(1, std::memory_order_relaxed);
    return 0;
}

constexpr int nobody = 0;
constexpr int is_gone = 1 << 30; ///< the holder
thread_local std::atomic<int> *held = nullptr;

int me() {
    return static_cast<int>(cairn::platform::thread_id());
}
std::atomic<int> &word_of(pthread_mutex_t *mutex) {
    return *reinterpret_cast<std::atomic<int> *>(mutex);
}
int make_mutex(pthread_mutex_t *mutex) {
    word_of(mutex).store(nobody, std::memory_order_relaxed);
    return 0;
}
int try_lock(pthread_mutex_t *mutex) {
    int holder = nobody;
    if (!word_of(mutex).compare_exchange_strong(holder, me(), std::memory_order_acquire) &&
        !(holder == is_gone &&
          word_of(mutex).compare_exchange_strong(holder, me(), std::memory_order_acquire))) {
        return EBUSY;
    }
    if (holder == nobody) {
        cairn::model::check(held == nullptr, "one mutex of each thread is enough");
        held = &word_of(mutex);
    }
    return holder == nobody ? 0 : EOWNERDEAD;
}
/// One that its thread took, or took over from one that is gone.
int unlock(pthread_mutex_t *mutex) {
    if (word_of(mutex).load(std::memory_order_relaxed) != me()) {
        return EPERM;
    }
    held = held == &word_of(mutex) ? nullptr : held;
    word_of(mutex).store(nobody, std::memory_order_release);
    return 0;
}
/// The thread is no more; nothing is run.
void go() {
    if (held != nullptr) {
        held->store(is_gone, std::memory_order_release);
        held = nullptr;
    }
}

int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) {
    if (refused()) {
        return 1;
    }
    begun.fetch_add(1, std::memory_order_release);
    return 0;
}
} // namespace pthread
} // namespace

#define pthread_mutexattr_init(attributes) (static_cast<void>(attributes), 0)
#define pthread_mutexattr_setrobust(attributes, robust) 0
#define pthread_mutex_init(mutex, attributes) pthread::make_mutex(mutex)
#define pthread_mutex_trylock pthread::try_lock
#define pthread_mutex_consistent(mutex) static_cast<void>(mutex)
#define pthread_mutex_unlock pthread::unlock
#define pthread_key_create pthread::make_key
#define pthread_key_delete pthread::delete_key
#define pthread_setspecific pthread::set
#define pthread_getspecific pthread::get
#define pthread_atfork pthread::at_fork
#define pthread_create pthread::create
#define pthread_attr_init(attributes) (static_cast<void>(attributes), 0)
#define pthread_attr_destroy(attributes) static_cast<void>(attributes)
#define pthread_attr_setstacksize(attributes, bytes) static_cast<void>(bytes)
#define pthread_attr_setdetachstate(attributes, state) static_cast<void>(attributes)
#define pthread_sigmask(how, wanted, before) static_cast<void>(wanted), static_cast<void>(before)
#define prctl(option, name) static_cast<void>(name)

#include <src/malloc/process_heap.cpp>
#include <src/malloc/thread_ties.cpp>

#include <cairn/thread/attendance.hpp>
#include <cairn/thread/thread_slot.hpp>

namespace cairn {

Options &options_in_force() noexcept {
    static constinit Options options;
    return options;
}
void process_heap::keep_heaps_across_fork() noexcept {}
void process_heap::untouch_after_fork() noexcept {}

namespace process_heap {

namespace {

/// What the purger sees of a heap: so much free memory, and whether its thread comes by. The heap writes it under its
/// locks, or in a section, and reads it without. Who looks for absent threads has the registry's lock: it may be a
/// caller that ticks.
struct Purged {
    sync::Lock lock{sync::Rank::registry};
    std::atomic<std::size_t> surplus{0};
    Attendance attendance;
    std::uint64_t looks = 0; ///< the purger's
    std::atomic<unsigned> purges{0};

    Purged &levels() { return *this; }
    Purged &global() { return *this; }
    Purged &stock() { return *this; }
    Purged &heaps() { return *this; }
    Purged &runs() { return *this; }
    Purged &line() { return *this; }
    static bool is_small() { return false; }
    static bool several() { return false; }
    std::size_t surplus_bytes() const { return surplus.load(std::memory_order_relaxed); }
    static constexpr std::size_t growth_step = 1_MiB;
    std::size_t resident_bytes() const { return purger::start_at + 2 * growth_step; }
    std::size_t refused_bytes() const { return 0; }
    void forget_refused() {}
    bool has_heaps_to_check() {
        const sync::Guard hold(lock);
        return !attendance.is_reported();
    }
    bool is_absent() { ///< and it is not known yet
        const sync::Guard hold(lock);
        return attendance.is_due(++looks, 1);
    }
    void retire_inactive() { is_absent(); }
    void purge_idle(std::size_t) {
        purges.fetch_add(1, std::memory_order_relaxed);
        surplus.fetch_and(0, std::memory_order_relaxed);
    }
    void trim(std::size_t) { surplus.fetch_and(0, std::memory_order_relaxed); }
    static void look_again() {}
    static bool visit_wanted(const void *) { return false; }
    void set_surplus_limit(std::size_t) {}
} purged;

} // namespace
} // namespace process_heap
} // namespace cairn

#define heap purged
#include <src/malloc/purger.cpp>
#undef heap

using namespace cairn;

namespace {

// ---- the purger

/// One thread more is the purger, once it was started.
struct Purger {
    Purger() {
        process_heap::purger::process = getpid();
        process_heap::purger::configure(Options{});
        model::name(&process_heap::purger::state, "state");
        model::name(&process_heap::purged.surplus, "surplus");
    }
    static void free_much() {
        process_heap::purged.surplus.fetch_add(process_heap::purger::wake_at + 4_MiB,
                                               std::memory_order_relaxed);
        process_heap::purger::surplus();
    }
    static void come_by() {
        process_heap::purged.attendance.come_by();
        if (process_heap::purged.attendance.take_missed()) {
            process_heap::purger::returned();
        }
    }
    static void purge() {
        while (pthread::begun.load(std::memory_order_acquire) == 0) {
            platform::cpu_relax();
        }
        process_heap::purger::run(nullptr);
    }
    static bool sleeps() { return process_heap::purger::state.load() == process_heap::purger::asleep; }
    void finish() {
        model::check(pthread::begun.load() <= 1, "two purgers");
        model::check(process_heap::purged.surplus_bytes() <= process_heap::purger::to_retain(),
                     "nobody gives back what is free");
        for (int look = 0; look < 2; ++look) {
            model::check(!process_heap::purged.is_absent(), "nobody sees that the thread stays away");
        }
    }
};

/// Whether the thread comes by, instead of freeing; again: it has been seen to do so already.
enum class Coming { not_at_all, once, again };

/// It runs, and goes to sleep when it likes.
template <unsigned Frees, Coming Comes = Coming::not_at_all>
struct PurgerSleeps : Purger {
    PurgerSleeps() {
        process_heap::purger::grew();
        if (Comes == Coming::again) {
            process_heap::purged.attendance.come_by();
            process_heap::purged.retire_inactive();
        }
    }
    void thread(unsigned i) {
        if (i < Frees) {
            Comes == Coming::not_at_all ? free_much() : come_by();
        } else {
            purge();
        }
    }
    void finish() {
        Purger::finish();
        model::check(sleeps(), "the purger does not go to sleep");
    }
};
const model::Kernel<PurgerSleeps<1>, 2> purger_sleeps("purger.sleeps", {.time_passes = true, .helpers = 1});
const model::Kernel<PurgerSleeps<1, Coming::once>, 2> purger_returns("purger.sleeps.returns",
                                                                     {.time_passes = true, .helpers = 1});
const model::Kernel<PurgerSleeps<1, Coming::again>, 2>
    purger_returns_again("purger.sleeps.returns.again", {.time_passes = true, .helpers = 1});
const model::Kernel<PurgerSleeps<2>, 3>
    purger_frees("purger.sleeps.frees",
                 {.executions = 400'000, .short_executions = 4'000, .time_passes = true, .helpers = 1});

/// A thread forks while another one frees: the purger leaves unless there is work for it, and who finds none gives back
/// himself.
struct PurgerLeaves : Purger {
    PurgerLeaves() {
        process_heap::purger::grew();
        process_heap::purger::last_tick = UINT64_MAX / 2; // no tick of a caller's comes between
    }
    void thread(unsigned i) {
        if (i == 0) {
            free_much();
        } else if (i == 1) {
            process_heap::purger::before_fork();
        } else {
            purge();
        }
    }
    void finish() {
        Purger::finish();
        model::check(sleeps() || process_heap::purger::state.load() == process_heap::purger::absent,
                     "the purger neither sleeps nor leaves");
    }
};
const model::Kernel<PurgerLeaves, 3>
    purger_leaves("purger.leaves",
                  {.executions = 400'000, .short_executions = 4'000, .time_passes = true, .helpers = 1});

/// Two threads grow the heap at one time; then one has memory to give back.
struct PurgerStarts : Purger {
    void thread(unsigned i) {
        if (i == 2) {
            purge();
            return;
        }
        process_heap::purger::grew();
        if (i == 0) {
            free_much();
        }
    }
    void finish() {
        Purger::finish();
        model::check(pthread::begun.load() == 1, "not one purger");
    }
};
const model::Kernel<PurgerStarts, 3>
    purger_starts("purger.starts",
                  {.executions = 400'000, .short_executions = 4'000, .time_passes = true, .helpers = 1});

/// The same, and no thread can be had: those that free have the ticks. (Who frees while the purger seems to be at work
/// leaves it to the next one.)
struct PurgerRefused : Purger {
    PurgerRefused() { pthread::refusals = 1; }
    void thread(unsigned i) {
        process_heap::purger::grew();
        if (i == 0) {
            free_much();
        }
    }
    void finish() {
        model::check(process_heap::purger::state.load() == process_heap::purger::refused,
                     "no purger, and nobody knows");
        free_much();
        free_much();
        model::check(process_heap::purged.purges.load() == 1, "not one tick");
    }
};
const model::Kernel<PurgerRefused, 2> purger_refused("purger.refused");

/// Without a thread of its own one of those that free has each tick.
struct PurgerTicks : Purger {
    PurgerTicks() {
        Options options;
        options.background = false;
        process_heap::purger::configure(options);
    }
    void thread(unsigned) { free_much(); }
    void finish() { model::check(process_heap::purged.purges.load() == 1, "not one tick"); }
};
const model::Kernel<PurgerTicks, 2> purger_ticks("purger.ticks");

// ---- the key

/// The first two threads of all.
template <bool Refused>
struct Key {
    bool attached[2] = {};
    Key() {
        pthread::refusals = Refused ? 1 : 0;
        model::name(&process_heap::key_state, "key_state");
        model::name(&process_heap::key, "key");
    }
    void thread(unsigned i) { attached[i] = process_heap::Hooks::attached(); }
    void finish() {
        model::check(attached[0] == !Refused && attached[1] == !Refused, "a thread whose end is not known");
        model::check(pthread::keys.load() == (attached[0] ? 1 : 0), "two keys");
        model::check(pthread::handlers.load() <= 1, "two handlers of forks");
    }
};
const model::Kernel<Key<false>, 2> key("process.key");
const model::Kernel<Key<true>, 2> key_refused("process.key.refused");

/// A fork while another thread makes the key, and the child has to make it.
struct KeyAndFork : Key<false> {
    void thread(unsigned i) {
        if (i == 1) {
            Key::thread(1);
            return;
        }
        model::fork_alone();
        process_heap::in_child();
        Key::thread(0);
    }
    void finish() { model::check(attached[0], "a thread whose end is not known"); }
};
const model::Kernel<KeyAndFork, 2> key_fork("process.key.fork");

// ---- ties

/// A thread uses its heap and is gone, `Told`: after its destructor has run, while others start, who look for heaps
/// without threads. In the end none is lost.
template <bool Told, unsigned Threads>
struct Ties {
    void *block = nullptr;

    Ties() {
        Options options;
        options.background = false;
        process_heap::purger::configure(options);
        process_heap::thread_ties::next_check_at = 1;
        process_heap::thread_ties::tie(nullptr); // the first thread has none
        model::as_thread(0, [&] { block = process_heap::heap.malloc(1_KiB); });
    }
    static void end() {
        pthread::end();
        pthread::go();
    }
    void thread(unsigned i) {
        if (i != 0) {
            void *const p = process_heap::heap.malloc(1_KiB);
            static_cast<int *>(p)[4] = 1;
            process_heap::heap.free(p);
            return;
        }
        process_heap::heap.free(block);
        if (Told) {
            end();
        } else {
            pthread::go();
        }
    }
    static std::size_t in_use() {
        Statistics counts;
        counts.size_classes = 1;
        process_heap::heap.levels().registry().statistics(counts);
        return counts.heaps;
    }
    static unsigned tied() {
        unsigned count = 0;
        for (const auto *t = process_heap::thread_ties::all; t != nullptr; t = t->next) {
            count += t->heap != nullptr ? 1 : 0;
        }
        return count;
    }
    void finish() {
        process_heap::thread_ties::check_ties();
        model::check(in_use() == Threads - 1, "a thread's heap is lost, or taken from it");
        model::check(tied() == Threads - 1, "a tie is not cut, or not made");
        for (unsigned i = 1; i < Threads; ++i) {
            model::as_thread(i, end);
        }
        model::check(in_use() == 0 && tied() == 0, "a heap is lost");
        const auto *const s = owner_line_of(shared_line_at(address_of(block)));
        model::check(RemoteWord{remote_of(s)->word.load()}.owner() == 0,
                     "a superblock stays where no thread is");
    }
};
const model::Kernel<Ties<false, 2>, 2> ties("process.ties");
const model::Kernel<Ties<true, 2>, 2> ties_told("process.ties.told", model::capped(4'000));
const model::Kernel<Ties<false, 3>, 3> ties_three("process.ties.three",
                                                  {.executions = 100'000, .short_executions = 2'000});

// ---- the numbers of threads

/// A number, with what lies under it, goes from a thread that ends to the next one.
template <unsigned Threads>
struct Numbers {
    struct Entry {
        int holders = 0;
        int uses = 0;
    } table[Threads];

    void thread(unsigned) {
        const unsigned mine = thread_slot();
        model::check(mine < Threads, "none, or not the lowest number");
        model::check(++table[mine].holders == 1, "two have one number");
        ++table[mine].uses;
        --table[mine].holders;
        pthread::end();
        model::check(thread_slot() == no_thread_slot, "a number after the end");
    }
    void finish() {
        unsigned uses = 0;
        for (const Entry &entry : table) {
            uses += static_cast<unsigned>(entry.uses);
        }
        model::check(uses == Threads, "a use is lost");
    }
};
const model::Kernel<Numbers<2>, 2> numbers("process.numbers");
const model::Kernel<Numbers<3>, 3> numbers_3("process.numbers.three", model::capped(4'000));

} // namespace
