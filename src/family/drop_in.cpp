// SPDX-License-Identifier: MIT
//
// An allocator of the family as the malloc of a process: what ties it to start, fork and exit, and what it tells of
// itself. The functions of the C and C++ interface are those of src/malloc/.
#include "process_heap.hpp"

#include <cairn/cairn.h>
#include <cairn/sync/across_fork.hpp>
#include <src/malloc/environment.hpp>
#include <src/malloc/report_at_exit.hpp>

#include <pthread.h>
#include <unistd.h>

extern "C" {
[[gnu::weak]] void stdio_lock_list() asm("_IO_list_lock");
[[gnu::weak]] void stdio_unlock_list() asm("_IO_list_unlock");
[[gnu::weak]] void stdio_reset_list() asm("_IO_list_resetlock");
}

namespace cairn::process_heap {

constinit Immortal<Allocator> immortal;
constexpr const char *const allocator_name = CAIRN_ALLOCATOR_NAME;

namespace {

template <class H>
concept ReportingHeap = requires(H &heap, Statistics &statistics) { heap.statistics(statistics); };

template <class H>
concept TrimmableHeap = requires(H &heap, std::size_t keep) {
    { heap.trim(keep) } -> std::same_as<std::size_t>;
};

template <class H>
void report_on(H &heap, Statistics &out) {
    out = {};
    if constexpr (ReportingHeap<H>) {
        heap.statistics(out);
    }
}

template <class H>
std::size_t trim_one(H &heap, std::size_t keep) {
    if constexpr (TrimmableHeap<H>) {
        return heap.trim(keep);
    }
    return 0;
}

void call_if_there(void (*function)()) {
    if (function != nullptr) {
        function();
    }
}

/// glibc's fork takes the lock of its list of streams when the handlers have run. Whoever holds it (fflush(nullptr))
/// may wait for a stream whose holder (getline) waits for malloc, so it is taken before the heap's locks here. It is
/// recursive; in the child of a process with threads glibc has opened it already. musl has no such functions.
void lock_across_forks() {
    if constexpr (sync::ForkLocks<Allocator>) {
        pthread_atfork(
            [] {
                call_if_there(stdio_lock_list);
                sync::lock_heap_across_fork(immortal.object);
            },
            [] {
                sync::unlock_heap_after_fork(immortal.object, sync::AfterFork::in_parent);
                call_if_there(stdio_unlock_list);
            },
            [] {
                sync::unlock_heap_after_fork(immortal.object, sync::AfterFork::in_child);
                call_if_there(stdio_reset_list);
            });
    }
}

} // namespace

void whole_statistics(Statistics &out, bool) noexcept {
    report_on(immortal.object, out);
}

std::size_t trim(std::size_t keep) noexcept {
    return trim_one(immortal.object, keep);
}

/// These allocators keep what their documents say.
void retain(std::size_t) noexcept {}

/// They have no options.
bool binds_deeply() noexcept {
    return false;
}

namespace {

/// Runs before all other constructors (-z initfirst), so that other handlers of fork find the heap unlocked: this
/// library's handler runs last before the fork and first after it.
[[gnu::constructor(101)]] void at_load(int, char **, char **environment) {
    set_environ_at_load(environment);
    lock_across_forks();
    report::read_request();
}

[[gnu::destructor(101)]] void at_exit() {
    report::write_requested();
}

} // namespace
} // namespace cairn::process_heap

extern "C" CAIRN_EXPORT const char *cairn_version(void) {
    return CAIRN_VERSION_STRING;
}
