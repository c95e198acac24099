// SPDX-License-Identifier: MIT
#include "purger.hpp"
#include "loader.hpp"
#include "process_heap.hpp"
#include "signals.hpp"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace cairn::process_heap::purger {
namespace {

enum State : std::uint32_t {
    absent,   ///< there is no purger
    starting, ///< a thread is making it
    asleep,   ///< the purger sleeps on this word
    at_work,  ///< the purger ticks
    refused,  ///< no purger could be made, or none may be: threads that free memory have the ticks
};

/// The diagram is in purger.hpp. relaxed, with two exceptions at start() and grew(): it orders no other memory; where
/// the purger has to see memory that another thread has freed, fences order the two.
constinit std::atomic<std::uint32_t> state{absent};

// Options. relaxed: settings that order no other memory.
constinit std::atomic<std::int64_t> delay_ms{Options{}.purge_delay_ms};
constinit std::atomic<std::int64_t> retain{Options{}.retain_bytes};
constinit std::atomic<bool> background{Options{}.background};

/// 1: the purger has to end, because the main thread ends. The purger sleeps on it between ticks. relaxed: it orders no
/// other memory.
constinit std::atomic<std::uint32_t> stopping{0};

/// if_idle: a thread that forks asks the purger to leave. after_purge: a thread to which the kernel has refused a
/// namespace asks for it. That thread sleeps on the word until the purger answers by a 0. relaxed: it orders no other
/// memory.
enum LeaveRequest : std::uint32_t { none, if_idle, after_purge };
constinit std::atomic<std::uint32_t> leave_requested{0};

/// The number of the last purger's thread; 0 if there was none. relaxed: it orders no other memory, and is there before
/// the purger answers.
constinit std::atomic<pid_t> thread{0};

/// How much memory has to be resident for a purger to be made. After a failure it is twice as much as was resident
/// then: the cause may be gone by that time. relaxed: a hint.
constinit std::atomic<std::size_t> start_from{start_at};

/// The process of the purger. A child of vfork has the memory of its parent, and must not start a purger. relaxed: it
/// orders no other memory.
constinit std::atomic<pid_t> process{0};

/// The thread-local memory of the libraries that were loaded at the start; each thread has it on its stack. relaxed: it
/// orders no other memory.
constinit std::atomic<std::size_t> local_bytes{0};

/// The time of the last tick by a thread that freed memory. relaxed: the compare-exchange lets one thread have each
/// tick.
constinit std::atomic<std::uint64_t> last_tick{0};

/// The period. Memory is purged when it was free for a whole period, one to two periods after it was freed. So a period
/// is half of the purge delay.
long tick_ms() {
    const std::int64_t half = delay_ms.load(std::memory_order_relaxed) / 2;
    return half < 1 ? 1 : static_cast<long>(half);
}

std::size_t to_retain() {
    return static_cast<std::size_t>(retain.load(std::memory_order_relaxed));
}

/// Whether more than `beyond` bytes of free memory are resident. Runs that the kernel has refused to take, because the
/// program has locked pages in them, do not count until the purger is woken again.
bool has_surplus(std::size_t beyond) {
    return heap.levels().surplus_bytes() > beyond + heap.levels().refused_bytes();
}

bool has_surplus() {
    return has_surplus(to_retain());
}

/// Whether there is enough free memory to wake the purger.
bool has_much_surplus() {
    return has_surplus(std::max(to_retain(), wake_at));
}

/// Whether there is free memory to purge, or a heap whose thread is not known to be inactive: its free memory may have
/// to be taken from it.
bool has_work() {
    return has_surplus() || heap.levels().has_heaps_to_check();
}

void tick() {
    heap.levels().retire_inactive();
    if (has_surplus()) {
        heap.levels().purge_idle(to_retain());
    }
}

bool is_stopping() {
    return stopping.load(std::memory_order_relaxed) != 0;
}

bool leave_is_requested() {
    return leave_requested.load(std::memory_order_relaxed) != 0;
}

void answer_leave_request() {
    leave_requested.store(0, std::memory_order_relaxed);
    platform::futex_wake(leave_requested);
}

/// The purger inherits priority and processors of the thread that made it: it gives up a real-time priority, and may
/// run on all processors of the main thread.
void drop_inherited_scheduling() {
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

void tick_while_there_is_work() {
    while (has_work() && !is_stopping() && !leave_is_requested()) {
        platform::futex_wait(stopping, 0, tick_ms());
        if (!leave_is_requested()) {
            tick();
        }
    }
}

/// Goes to sleep unless there is work after all. Returns when another thread has woken the purger, has asked it to
/// leave, or has told it to stop. The result: whether it was asked to leave before it last looked for work.
bool sleep_until_woken() {
    std::uint32_t expected = at_work;
    state.compare_exchange_strong(expected, asleep, std::memory_order_relaxed);
    // Looks for work once more: a thread that freed memory after the last look saw a purger at work. The fence pairs
    // with the one in wake(): the purger sees that memory, or the thread sees the purger asleep. Where there is no
    // heavy fence, a thread that has still passed a light one is through after a tick.
    if (!platform::heavy_fence()) {
        platform::futex_wait(stopping, 0, tick_ms());
    }
    const bool to_leave = leave_is_requested();
    if (leave_requested.load(std::memory_order_relaxed) == after_purge) {
        heap.trim(to_retain()); // what the purger would stay for
    }
    expected = asleep;
    if (to_leave ? has_much_surplus() : has_work()) {
        state.compare_exchange_strong(expected, at_work, std::memory_order_relaxed);
    }
    // If the purger reads an old figure after it was woken, it comes here once more, and the fence above then comes
    // after the fence of the thread that woke it.
    while (state.load(std::memory_order_relaxed) == asleep && !is_stopping() && !leave_is_requested()) {
        platform::futex_wait(state, asleep);
    }
    return to_leave;
}

/// Answers a request to leave, if there is one. True: the purger has left, and its thread has to end. `looked_since`:
/// the purger has looked for work after the request, so that it answers also if it stays; otherwise it looks first.
bool leave_if_asked(bool looked_since) {
    if (!leave_is_requested()) {
        return false;
    }
    std::uint32_t expected = asleep; // fails if another thread has woken the purger since that look
    const bool leaves = state.compare_exchange_strong(expected, absent, std::memory_order_relaxed);
    if (leaves || looked_since) {
        answer_leave_request();
    }
    return leaves;
}

/// The purger's thread.
void *run(void *) {
    prctl(PR_SET_NAME, "cairn-purge");
    thread.store(static_cast<pid_t>(platform::raw_syscall(SYS_gettid)), std::memory_order_relaxed);
    drop_inherited_scheduling();
    while (!is_stopping()) {
        heap.levels().forget_refused();
        heap.levels()
            .retire_inactive(); // notes which heaps are inactive now: a tick later they can be retired
        tick_while_there_is_work();
        const bool looked_since_request = sleep_until_woken();
        if (leave_if_asked(looked_since_request)) {
            return nullptr;
        }
    }
    state.store(refused, std::memory_order_relaxed);
    platform::futex_wake(state);
    return nullptr;
}

/// A callback of dl_iterate_phdr: adds the thread-local memory of one library to the sum.
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
    pthread_t made;
    int error = pthread_create(&made, &attributes, run, nullptr);
    if (error == EINVAL) { // the C library may be set to reserve more for each thread
        pthread_attr_setstacksize(&attributes, usual);
        error = pthread_create(&made, &attributes, run, nullptr);
    }
    pthread_attr_destroy(&attributes);
    return error == 0;
}

/// Makes the purger, unless another thread does. `now`: the state that was read, absent or refused.
void start(std::uint32_t now, std::size_t resident) {
    if (process.load(std::memory_order_relaxed) != getpid()) {
        return;
    }
    // relaxed: the compare-exchange lets one thread make the purger
    if (!state.compare_exchange_strong(now, starting, std::memory_order_relaxed)) {
        return;
    }
    const sigset_t before = hold_back_signals();
    state.store(at_work, std::memory_order_relaxed); // pthread_create makes it visible to the purger
    if (!make_thread()) {
        start_from.store(2 * resident, std::memory_order_relaxed);
        // release: pairs with the acquire in grew(): a thread that tries again sees start_from.
        state.store(refused, std::memory_order_release);
    }
    let_signals_through(before);
}

/// The purge clock without a purger: a thread that frees memory reads the time, and ticks if a period has passed.
void tick_by_caller() {
    const std::uint64_t now = platform::monotonic_milliseconds();
    std::uint64_t last = last_tick.load(std::memory_order_relaxed);
    if (now >=
            last + static_cast<std::uint64_t>(tick_ms()) && // `last` may be a later time, of another thread
        last_tick.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
        tick();
    }
}

/// Whether there is no purger where growth would have started one: after a fork.
bool is_missing() {
    return is_absent() && heap.levels().resident_bytes() >= start_at + 2 * heap.levels().growth_step;
}

/// Puts the purger to work if it sleeps. False if there is no purger.
bool wake() {
    if (CAIRN_UNLIKELY(platform::heavy_fence_missing())) {
        std::atomic_thread_fence(std::memory_order_seq_cst); // in place of the light fence below
    }
    platform::light_fence(); // pairs with the heavy fence in sleep_until_woken()
    std::uint32_t now = state.load(std::memory_order_relaxed); // relaxed: the compare-exchange decides
    if (now == asleep && state.compare_exchange_strong(now, at_work, std::memory_order_relaxed)) {
        platform::futex_wake(state);
    }
    return now == asleep || now == at_work;
}

/// Besides that of the program, as far as threads have heaps. relaxed: a hint.
bool is_the_only_other_thread() {
    const std::uint32_t now = state.load(std::memory_order_relaxed);
    return (now == asleep || now == at_work) && !heap.levels().global().stock().heaps().several();
}

/// Waits 4 ms for the answer, at most so many times.
void ask_to_leave(LeaveRequest request, int most_waits) {
    constexpr long wait_ms = 4;
    leave_requested.store(request, std::memory_order_relaxed);
    for (int i = 0; i < most_waits && leave_is_requested(); ++i) {
        platform::futex_wake(stopping); // on which the purger sleeps between ticks
        platform::futex_wake(state);
        platform::futex_wait(leave_requested, request, wait_ms);
    }
    leave_requested.store(0, std::memory_order_relaxed);
}

} // namespace

void loaded() noexcept {
    // The C library's own, as this runs before the constructors of the program and of other libraries: one of theirs
    // (ThreadSanitizer's, fakechroot's) may not work yet.
    void *const next = dl_symbol != nullptr ? dl_symbol(RTLD_NEXT, "dl_iterate_phdr") : nullptr;
    if (next == nullptr && dl_error != nullptr) {
        dl_error(); // a static program that asks for the last error has made none
    }
    auto *const iterate =
        next != nullptr ? reinterpret_cast<decltype(&dl_iterate_phdr)>(next) : &dl_iterate_phdr;
    std::size_t sum = 0;
    iterate(add_local_bytes, &sum);
    local_bytes.store(sum, std::memory_order_relaxed);
    process.store(getpid(), std::memory_order_relaxed);
}

void configure(const Options &options) noexcept {
    delay_ms.store(options.purge_delay_ms, std::memory_order_relaxed);
    retain.store(options.retain_bytes, std::memory_order_relaxed);
    background.store(options.background, std::memory_order_relaxed);
    if (options.purge_delay_ms < 0) {
        heap.set_surplus_limit(SIZE_MAX);
    } else if (options.purge_delay_ms == 0) {
        heap.set_surplus_limit(to_retain());
    } else {
        heap.set_surplus_limit(std::max(to_retain(), wake_at));
    }
}

void grew() noexcept {
    if (!background.load(std::memory_order_relaxed) || delay_ms.load(std::memory_order_relaxed) <= 0) {
        return;
    }
    const std::uint32_t now = state.load(std::memory_order_acquire); // pairs with the release in start()
    if (now == absent || now == refused) {
        const std::size_t resident = heap.levels().resident_bytes();
        if (resident >= start_from.load(std::memory_order_relaxed) && !is_stopping()) {
            start(now, resident);
        }
        return;
    }
    wake(); // also a thread that only allocates may have free memory in its heap when it becomes inactive
}

void surplus() noexcept {
    const bool is_ours = background.load(std::memory_order_relaxed);
    const bool at_once = delay_ms.load(std::memory_order_relaxed) == 0;
    if (!at_once && is_ours && wake()) {
        return;
    }
    if (at_once || (is_ours && is_missing())) {
        heap.trim(to_retain());
    } else {
        tick_by_caller();
    }
}

/// Without a purger the calling thread does its work: what the thread has freed may be in the heap of one that sleeps.
void returned() noexcept {
    if (delay_ms.load(std::memory_order_relaxed) > 0 && background.load(std::memory_order_relaxed) &&
        !wake() && is_absent()) {
        heap.levels().look_again(); // so that there is one soon
        heap.levels().visit_wanted(nullptr);
        if (has_much_surplus()) {
            heap.levels().trim(to_retain());
        }
    }
}

bool is_absent() noexcept {
    return state.load(std::memory_order_relaxed) == absent && !heap.levels().runs().line().is_small() &&
           heap.levels().resident_bytes() >= start_at;
}

void main_thread_ends() noexcept {
    constexpr int most_waits = 20;
    constexpr long wait_ms = 50;
    stopping.store(1, std::memory_order_relaxed);
    std::uint32_t now = absent;
    if (state.compare_exchange_strong(now, refused, std::memory_order_relaxed) || now == refused) {
        return;
    }
    platform::futex_wake(stopping);
    for (int i = 0; i < most_waits && (now = state.load(std::memory_order_relaxed)) != refused; ++i) {
        if (now == absent) { // the purger has left, because a thread forks
            state.compare_exchange_strong(now, refused, std::memory_order_relaxed);
            return;
        }
        platform::futex_wake(state, INT_MAX);
        platform::futex_wait(state, now, wait_ms);
    }
}

/// A purger that has much to purge stays: that memory has to be given back even if the parent only sleeps from now on.
/// The kernel counts one that has left until it is gone altogether.
bool before_fork() noexcept {
    constexpr int most_waits = 5;
    if (is_the_only_other_thread() && !has_much_surplus()) {
        ask_to_leave(if_idle, most_waits);
    }
    if (state.load(std::memory_order_relaxed) != absent || heap.levels().global().stock().heaps().several()) {
        return false;
    }
    for (int i = 0; i < platform::longest_wait / 2 && has_thread(); ++i) {
        platform::wait_a_little(i);
    }
    struct stat tasks{};
    constexpr nlink_t of_one = 3; // with those of every folder
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == of_one;
}

/// The calling thread uses nothing of the heap: it may be a signal handler that has interrupted a call of malloc's.
bool leave() noexcept {
    constexpr int most_waits = 250;
    if (is_the_only_other_thread()) {
        ask_to_leave(after_purge, most_waits);
    }
    return state.load(std::memory_order_relaxed) == absent && thread.load(std::memory_order_relaxed) != 0;
}

bool has_thread() noexcept {
    const pid_t last = thread.load(std::memory_order_relaxed);
    return last != 0 && platform::raw_syscall(SYS_tgkill, getpid(), last, 0) == 0;
}

/// relaxed: the child of a fork has one thread.
void forget() noexcept {
    process.store(getpid(), std::memory_order_relaxed);
    thread.store(0, std::memory_order_relaxed);
    if (state.load(std::memory_order_relaxed) != refused) {
        state.store(absent, std::memory_order_relaxed);
    }
}

} // namespace cairn::process_heap::purger
