// SPDX-License-Identifier: MIT
#include "purger.hpp"
#include "process_heap.hpp"
#include "signals.hpp"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace cairn::process_heap::purger {
namespace {

enum State : std::uint32_t {
    absent,   ///< no thread yet
    starting, ///< being made
    asleep,   ///< waits on the word
    at_work,  ///< ticks
    refused,  ///< no thread could be made, or none may be: purging is done by the callers
};

constinit std::atomic<std::uint32_t> state{absent};
// Options: relaxed, each a number by itself.
constinit std::atomic<std::int64_t> delay_ms{Options{}.purge_delay_ms};
constinit std::atomic<std::int64_t> retain{Options{}.retain_bytes};
constinit std::atomic<bool> background{Options{}.background};

/// The purger is to end: whoever else runs does its work. A word to sleep on. relaxed: a word by itself.
constinit std::atomic<std::uint32_t> over{0};

/// A thread that forks asks the purger to leave, and sleeps until that has answered. relaxed: a word by itself.
constinit std::atomic<std::uint32_t> asked{0};

/// How much there must be for a thread to be made. What stood in the way of one may be gone later: the next is tried when there is twice
/// as much. relaxed: a hint.
constinit std::atomic<std::size_t> start_from{start_at};

/// Whose purger this is: a child of vfork, which has the memory of its parent, starts none. relaxed: a number by itself.
constinit std::atomic<pid_t> process{0};

/// Thread-local memory of the libraries that were there at load: a thread has it in its stack. relaxed: a number by itself.
constinit std::atomic<std::size_t> local_bytes{0};

/// relaxed: that it is one exchange lets one caller have each tick.
constinit std::atomic<std::uint64_t> last_tick{0};

/// Memory is given back when it lay unused for a whole tick: after one to two of them.
long tick_ms() {
    const std::int64_t half = delay_ms.load(std::memory_order_relaxed) / 2;
    return half < 1 ? 1 : static_cast<long>(half);
}

std::size_t to_retain() {
    return static_cast<std::size_t>(retain.load(std::memory_order_relaxed));
}

/// Memory with pages that the program has locked, and left so, is none until the purger is woken again.
bool has_surplus(std::size_t beyond) {
    return heap.levels().surplus_bytes() > beyond + heap.levels().refused_bytes();
}

bool has_surplus() {
    return has_surplus(to_retain());
}

/// What wakes it, too.
bool has_much_surplus() {
    return has_surplus(std::max(to_retain(), wake_at));
}

/// Surplus, or what will be when it is taken from threads that stay away.
bool has_work() {
    return has_surplus() || heap.levels().has_heaps_to_check();
}

void tick() {
    heap.levels().retire_inactive();
    if (has_surplus()) {
        heap.levels().purge_idle(to_retain());
    }
}

bool is_over() {
    return over.load(std::memory_order_relaxed) != 0;
}

bool is_asked() {
    return asked.load(std::memory_order_relaxed) != 0;
}

void answer() {
    asked.store(0, std::memory_order_relaxed);
    platform::futex_wake(asked);
}

/// Whoever made the thread may run with a priority over others, or on one processor only: purging has none, and runs
/// wherever the first thread may as well.
void be_ordinary() {
    const int policy = sched_getscheduler(0);
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        const sched_param none{};
        sched_setscheduler(0, SCHED_OTHER, &none);
    }
    cpu_set_t own;
    cpu_set_t first;
    if (sched_getaffinity(0, sizeof own, &own) == 0 &&
        sched_getaffinity(getpid(), sizeof first, &first) == 0 && !CPU_EQUAL(&own, &first)) {
        CPU_OR(&own, &own, &first);
        sched_setaffinity(0, sizeof own, &own);
    }
}

void *run(void *) {
    prctl(PR_SET_NAME, "cairn-purge");
    be_ordinary();
    while (!is_over()) {
        heap.levels().forget_refused();
        heap.levels().retire_inactive(); // those who are absent now will have been for a tick
        while (has_work() && !is_over() && !is_asked()) {
            platform::futex_wait(over, 0, tick_ms());
            if (!is_asked()) {
                tick();
            }
        }
        std::uint32_t expected = at_work;
        // relaxed, as all that is done to `state`: what is to be seen of the memory is seen behind the fences.
        state.compare_exchange_strong(expected, asleep, std::memory_order_relaxed);
        // Once more: who freed memory since the last look saw a purger at work. The fence pairs with the one
        // in surplus(): either we see that memory, or it sees us asleep. Where there is none, whoever still went by a light
        // one is through in a tick.
        if (!platform::heavy_fence()) {
            platform::futex_wait(over, 0, tick_ms());
        }
        const bool to_leave = is_asked();
        expected = asleep;
        if (to_leave ? has_much_surplus() : has_work()) {
            state.compare_exchange_strong(expected, at_work, std::memory_order_relaxed);
        }
        // Over an old figure the purger goes round once more, and the fence comes after the one of who woke it.
        while (state.load(std::memory_order_relaxed) == asleep && !is_over() && !is_asked()) {
            platform::futex_wait(state, asleep);
        }
        if (is_asked()) {
            expected = asleep; // since that look
            const bool leaves = state.compare_exchange_strong(expected, absent, std::memory_order_relaxed);
            if (leaves || to_leave) {
                answer();
            }
            if (leaves) {
                return nullptr;
            }
        }
    }
    state.store(refused, std::memory_order_relaxed);
    platform::futex_wake(state);
    return nullptr;
}

int add_local_bytes(dl_phdr_info *library, std::size_t, void *sum) {
    for (unsigned i = 0; i < library->dlpi_phnum; ++i) {
        if (library->dlpi_phdr[i].p_type == PT_TLS) {
            *static_cast<std::size_t *>(sum) += library->dlpi_phdr[i].p_memsz + library->dlpi_phdr[i].p_align;
        }
    }
    return 0;
}

bool make_thread() {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    std::size_t usual = 0;
    pthread_attr_getstacksize(&attributes, &usual);
    const std::size_t stack = PTHREAD_STACK_MIN + 64_KiB + local_bytes.load(std::memory_order_relaxed);
    pthread_attr_setstacksize(&attributes, align_up(stack, 64_KiB));
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, run, nullptr);
    if (error == EINVAL) { // a setting of the C library may reserve more for each thread
        pthread_attr_setstacksize(&attributes, usual);
        error = pthread_create(&thread, &attributes, run, nullptr);
    }
    pthread_attr_destroy(&attributes);
    return error == 0;
}

/// `now`: the state that was seen, without a thread.
void start(std::uint32_t now, std::size_t resident) {
    if (process.load(std::memory_order_relaxed) != getpid()) {
        return;
    }
    // relaxed: that it is one exchange lets one thread make it
    if (!state.compare_exchange_strong(now, starting, std::memory_order_relaxed)) {
        return;
    }
    const sigset_t before = hold_back_signals();
    state.store(at_work, std::memory_order_relaxed); // pthread_create hands it to the thread
    if (!make_thread()) {
        start_from.store(2 * resident, std::memory_order_relaxed);
        state.store(refused,
                    std::memory_order_release); // pairs with grew: who tries again knows from when on
    }
    let_signals_through(before);
}

/// The purge clock without a thread: whoever frees looks at the time.
void tick_by_caller() {
    const std::uint64_t now = platform::monotonic_milliseconds();
    std::uint64_t last = last_tick.load(std::memory_order_relaxed);
    if (now >= last + static_cast<std::uint64_t>(tick_ms()) && // `last` may be later, another thread's
        last_tick.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
        tick();
    }
}

/// Puts the purger to work if it sleeps. False if there is none.
bool wake() {
    if (CAIRN_UNLIKELY(platform::heavy_fence_missing())) {
        std::atomic_thread_fence(std::memory_order_seq_cst); // as the light one
    }
    platform::light_fence();                                   // pairs with the heavy one in run()
    std::uint32_t now = state.load(std::memory_order_relaxed); // relaxed: the exchange decides
    if (now == asleep && state.compare_exchange_strong(now, at_work, std::memory_order_relaxed)) {
        platform::futex_wake(state);
    }
    return now == asleep || now == at_work;
}

/// A process of that size has a purger, unless its memory has not grown since a fork, in the child as in the parent: free may not
/// start one, and who frees may make no more calls.
bool is_without_purger() {
    return state.load(std::memory_order_relaxed) == absent && heap.levels().resident_bytes() >= start_at;
}

/// Besides that of the program, as far as threads have heaps. relaxed: a hint.
bool is_the_only_other_thread() {
    const std::uint32_t now = state.load(std::memory_order_relaxed);
    return (now == asleep || now == at_work) && !heap.levels().global().stock().heaps().several();
}

void ask_to_leave() {
    constexpr int most_waits = 5;
    constexpr long wait_ms = 4;
    asked.store(1, std::memory_order_relaxed);
    for (int i = 0; i < most_waits && is_asked(); ++i) {
        platform::futex_wake(over); // where it sleeps between ticks
        platform::futex_wake(state);
        platform::futex_wait(asked, 1, wait_ms);
    }
    asked.store(0, std::memory_order_relaxed);
}

} // namespace

void loaded() noexcept {
    std::size_t sum = 0;
    dl_iterate_phdr(add_local_bytes, &sum);
    local_bytes.store(sum, std::memory_order_relaxed);
    process.store(getpid(), std::memory_order_relaxed);
}

void configure(const Options &options) noexcept {
    delay_ms.store(options.purge_delay_ms, std::memory_order_relaxed);
    retain.store(options.retain_bytes, std::memory_order_relaxed);
    background.store(options.background, std::memory_order_relaxed);
    const std::size_t kept = to_retain();
    heap.set_surplus_limit(options.purge_delay_ms < 0    ? SIZE_MAX
                           : options.purge_delay_ms == 0 ? kept
                           : kept > wake_at              ? kept
                                                         : wake_at);
}

void grew() noexcept {
    if (!background.load(std::memory_order_relaxed) || delay_ms.load(std::memory_order_relaxed) <= 0) {
        return;
    }
    const std::uint32_t now = state.load(std::memory_order_acquire); // pairs with start(), which decides
    if (now == absent || now == refused) {
        const std::size_t resident = heap.levels().resident_bytes();
        if (resident >= start_from.load(std::memory_order_relaxed) && !is_over()) {
            start(now, resident);
        }
        return;
    }
    wake(); // threads that only allocate are to be looked at too
}

void surplus() noexcept {
    const bool is_ours = background.load(std::memory_order_relaxed);
    const bool at_once = delay_ms.load(std::memory_order_relaxed) == 0;
    if (!at_once && is_ours && wake()) {
        return;
    }
    if (at_once || (is_ours && is_without_purger())) {
        heap.trim(to_retain());
    } else {
        tick_by_caller();
    }
}

void returned() noexcept {
    if (delay_ms.load(std::memory_order_relaxed) > 0 && background.load(std::memory_order_relaxed)) {
        wake();
    }
}

void main_thread_ends() noexcept {
    constexpr int most_waits = 20;
    constexpr long wait_ms = 50;
    over.store(1, std::memory_order_relaxed);
    std::uint32_t now = absent;
    if (state.compare_exchange_strong(now, refused, std::memory_order_relaxed) || now == refused) {
        return;
    }
    platform::futex_wake(over);
    for (int i = 0; i < most_waits && (now = state.load(std::memory_order_relaxed)) != refused; ++i) {
        if (now == absent) { // it was leaving
            state.compare_exchange_strong(now, refused, std::memory_order_relaxed);
            return;
        }
        platform::futex_wake(state, INT_MAX);
        platform::futex_wait(state, now, wait_ms);
    }
}

/// One with much to do stays: that is to go back though the parent only sleeps from here on.
void before_fork() noexcept {
    if (is_the_only_other_thread() && !has_much_surplus()) {
        ask_to_leave();
    }
}

bool leave() noexcept {
    const bool may = is_the_only_other_thread();
    if (may) {
        heap.trim(to_retain()); // what it would stay for
        ask_to_leave();
    }
    return may;
}

/// relaxed: the child of a fork is alone.
void forget() noexcept {
    process.store(getpid(), std::memory_order_relaxed);
    if (state.load(std::memory_order_relaxed) != refused) {
        state.store(absent, std::memory_order_relaxed);
    }
}

} // namespace cairn::process_heap::purger
