// SPDX-License-Identifier: MIT
//
// First-class heaps: the figures count their blocks also while another thread forks, however long that takes.
// link: a
#include "process_statistics.hpp"

#include <pthread.h>
#include <sys/wait.h>

#include <atomic>

using namespace process_test;

namespace {

constinit std::atomic<bool> forking{false};
constinit std::atomic<bool> over{false};

/// Called with the library's locks held: of handlers the last one is called first.
void before_fork() {
    forking = true;
    usleep(400'000);
    over = true;
}
void register_handler() {
    CHECK(pthread_atfork(before_fork, nullptr, nullptr) == 0);
}
[[gnu::used, gnu::section(".preinit_array")]] void (*const first)() = register_handler;

void *fork_once(void *) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    CHECK(waitpid(child, nullptr, 0) == child);
    return nullptr;
}

} // namespace

int main() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    for (int i = 0; i < 1000; ++i) {
        CHECK(cairn_heap_alloc(heap, 1 * KiB) != nullptr);
    }
    pthread_t other{};
    CHECK(pthread_create(&other, nullptr, fork_once, nullptr) == 0);
    while (!forking) {
        usleep(1000);
    }
    do { // once at least: this thread may have been put off for so long
        CHECK(statistics().live >= 1000 * KiB);
    } while (!over);
    CHECK(pthread_join(other, nullptr) == 0);
}
