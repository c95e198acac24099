// SPDX-License-Identifier: MIT
//
// The process heap in the life of the process: the ends of threads, fork, and options.
#include "process_heap.hpp"
#include "first_class.hpp"
#include "purger.hpp"
#include "thread_ties.hpp"

#include <cerrno>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/// glibc's variable that says whether the process has one thread; other C libraries have none.
extern "C" [[gnu::weak]] char libc_single_threaded asm("__libc_single_threaded");

namespace cairn::process_heap {

constinit Heap heap;
constexpr const char *const allocator_name = "cairn";

namespace {

enum KeyState : int { no_key, making_key, have_key, key_failed };
constinit std::atomic<int> key_state{no_key};
constinit pthread_key_t key{};

/// The value of the key in a thread without a tie: the destructor of a key runs only for values that are not null.
constinit char untied{};

thread_ties::Tie *tie_of(void *value) {
    return value == &untied ? nullptr : static_cast<thread_ties::Tie *>(value);
}

/// The destructor of the key, in a thread that ends.
void thread_ends(void *value) {
    if (platform::raw_syscall(SYS_gettid) == getpid()) {
        purger::main_thread_ends();
    }
    heap.detach();
    thread_ties::untie(tie_of(value));
}

/// Makes the key when the first thread gets a heap. That is early, so the key is among the first ones, whose values are
/// set without an allocation. The store of have_key is a release and pairs with the last load here and the one in
/// attached(): a thread that reads have_key sees `key`.
bool make_key() {
    int expected = no_key;
    // relaxed, here and while waiting: the compare-exchange makes one thread the maker, and the last load is an
    // acquire.
    if (key_state.compare_exchange_strong(expected, making_key, std::memory_order_relaxed)) {
        key_state.store(pthread_key_create(&key, thread_ends) == 0 ? have_key : key_failed,
                        std::memory_order_release);
    }
    while (key_state.load(std::memory_order_relaxed) == making_key) {
        platform::yield();
    }
    return key_state.load(std::memory_order_acquire) == have_key;
}

/// Whether the parent of this fork's child has no other thread. relaxed: written and read by the thread that forks.
constinit std::atomic<bool> forks_alone{false};

/// In the child of a fork. The parent takes no locks of the process heap for a fork; if it had other threads, which may
/// have been anywhere in the heap, the child rebuilds the lists from the descriptors. Otherwise the heap is whole; or a
/// signal handler forks, and the call that it has interrupted goes on in the child. relaxed: the child has one thread.
void in_child() {
    int expected = making_key; // by another thread of the parent
    key_state.compare_exchange_strong(expected, no_key, std::memory_order_relaxed);
    purger::forget();
    heap.levels().global().maker().descend(static_cast<std::uint64_t>(getpid()));
    const bool has_key = key_state.load(std::memory_order_relaxed) == have_key;
    thread_ties::forget_threads(has_key ? tie_of(pthread_getspecific(key)) : nullptr);
    if (!forks_alone.load(std::memory_order_relaxed)) {
        sync::Ranked::forget_held();
        heap.repair_after_fork();
        untouch_after_fork();
    }
}

void let_purger_leave() {
    const int saved = errno;
    const bool single = &libc_single_threaded != nullptr && libc_single_threaded != 0;
    forks_alone.store(single || purger::before_fork(), std::memory_order_relaxed);
    errno = saved;
}

/// Registers the handlers of fork, early: in the child handlers run in the order of their registration, and those of a
/// library that is loaded later may need the heap.
void watch_forks() {
    constinit static std::atomic<bool> watching{false};
    // relaxed: the exchange lets one caller register them.
    if (!watching.exchange(true, std::memory_order_relaxed)) {
        pthread_atfork(let_purger_leave, nullptr, in_child);
        keep_heaps_across_fork();
    }
}

} // namespace

bool Hooks::attached() noexcept {
    watch_forks();
    // acquire: pairs with the store in make_key().
    if (key_state.load(std::memory_order_acquire) != have_key && !make_key()) {
        return false;
    }
    if (purger::is_absent()) {
        heap.levels().look_again(); // free() may call this, which may not start one
    }
    thread_ties::Tie *const tie = thread_ties::tie(PerThread<Heap::Levels, Hooks>::mine());
    if (pthread_setspecific(key, tie != nullptr ? static_cast<void *>(tie) : &untied) == 0) {
        return true;
    }
    thread_ties::untie(tie);
    return false;
}

void Hooks::grew() noexcept {
    const int saved = errno;
    purger::grew();
    errno = saved;
}

void Hooks::returned() noexcept {
    purger::returned(); // leaves errno as it is: at most a raw system call
}

void Hooks::surplus() noexcept {
    const int saved = errno;
    purger::surplus();
    errno = saved;
}

void statistics(Statistics &out) noexcept {
    heap.statistics(out);
    out.metadata += thread_ties::metadata();
}

std::size_t trim(std::size_t keep) noexcept {
    return heap.trim(keep);
}

void apply(const Options &options) noexcept {
    constexpr HugePageUse uses[] = {HugePageUse::system, HugePageUse::growth, HugePageUse::dense,
                                    HugePageUse::everywhere};
    heap.levels().runs().space().use_huge_pages(uses[static_cast<unsigned>(options.huge_pages)]);
    heap.levels().registry().set_small_process(heap.levels().runs(), purger::start_at);
    purger::configure(options);
}

void retain(std::size_t bytes) noexcept {
    Options options = options_in_force();
    options.retain_bytes = bytes;
    apply(options);
}

bool binds_deeply() noexcept {
    return options_in_force().deep_binding;
}

/// Called once by the library's constructor, when the C library is initialised.
void started() noexcept {
    purger::loaded();
    watch_forks();
    heap.levels().runs().space().set_unasked(platform::vm::gives_huge_pages_unasked());
}

} // namespace cairn::process_heap
