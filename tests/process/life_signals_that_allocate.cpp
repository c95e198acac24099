// SPDX-License-Identifier: MIT
//
// Handlers that allocate, where C allows it: they interrupt no function of malloc's. By raise, by a fault of the
// program's own, and asynchronously while a thread waits for a signal or computes; other threads allocate all the
// while.
#include "process_test.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>

using namespace process_test;

namespace {

std::atomic<bool> stop;
std::atomic<unsigned> handled;
sigjmp_buf after_fault;
thread_local void *kept[16];

/// Every kind of block; some stay until the next signal, so that a handler frees what another one allocated.
void allocate() {
    Random random(handled++);
    for (void *&p : kept) {
        free(p);
        const std::size_t size = 1 + random.below(random.below(10) == 0 ? 200 * KiB : 2000);
        p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size < 100 ? size : 100);
    }
}

void on_signal(int) {
    allocate();
}

void on_fault(int) {
    allocate();
    siglongjmp(after_fault, 1);
}

void *others(void *) {
    Random random(7);
    while (!stop.load(std::memory_order_relaxed)) {
        free(malloc(1 + random.below(3000)));
    }
    return nullptr;
}

void *waits(void *) {
    sigset_t wanted;
    sigfillset(&wanted);
    sigdelset(&wanted, SIGUSR2);
    do {                   // once at least: a signal may have come before this thread did
        free(malloc(500)); // signals are blocked here, and come in sigsuspend only
        sigsuspend(&wanted);
    } while (!stop.load(std::memory_order_relaxed));
    for (void *&p : kept) {
        free(p);
        p = nullptr;
    }
    return nullptr;
}

} // namespace

int main() {
    alarm(hang_limit);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    CHECK(sigaction(SIGUSR1, &action, nullptr) == 0 && sigaction(SIGUSR2, &action, nullptr) == 0);
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER;
    CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
    pthread_t busy;
    pthread_t waiter;
    CHECK(pthread_create(&busy, nullptr, others, nullptr) == 0);
    CHECK(pthread_create(&waiter, nullptr, waits, nullptr) == 0);
    for (unsigned n = 0; n < 2000; ++n) {
        raise(SIGUSR1);
        if (sigsetjmp(after_fault, 1) == 0) {
            *opaque(static_cast<volatile char *>(nullptr)) = 1;
            CHECK(false);
        }
        free(malloc(100));
        pthread_kill(waiter, SIGUSR2);
    }
    stop = true;
    pthread_kill(waiter, SIGUSR2);
    CHECK(pthread_join(waiter, nullptr) == 0 && pthread_join(busy, nullptr) == 0);
    dprintf(1, "%u handlers have allocated\n", handled.load());
    CHECK(handled > 4000);
}
