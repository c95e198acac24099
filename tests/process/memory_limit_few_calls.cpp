// SPDX-License-Identifier: MIT
//
// At a limit on address space a malloc that is refused asks the kernel for memory some dozens of times, not hundreds:
// smaller and smaller parts in few steps, at no more places than may have another answer. The heaps of threads that
// sleep are looked through once, not again and again.
#include "faults_injector.hpp"

#include <climits>
#include <sys/resource.h>

using namespace process_test;

namespace {

std::atomic<unsigned> asleep{0};

void *sleeps(void *) {
    CHECK(std::malloc(1000) != nullptr);
    ++asleep;
    for (;;) {
        pause();
    }
}

void refused_beside(unsigned sleepers) {
    for (unsigned i = 0; i < sleepers; ++i) {
        pthread_t thread;
        CHECK(pthread_create(&thread, nullptr, sleeps, nullptr) == 0);
    }
    while (asleep != sleepers) {
        usleep(1000);
    }
    const rlimit limit{1 * GiB, 1 * GiB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    while (std::malloc(1000) != nullptr) {
    }
    faults::inject({SYS_membarrier, EPERM, UINT_MAX, 0});
    constexpr unsigned times = 10;
    for (unsigned i = 0; i < times; ++i) {
        CHECK(std::malloc(1000) == nullptr);
    }
    dprintf(1, "%u refused calls beside %u threads: %u fences\n", times, sleepers, faults::seen.load());
    CHECK(faults::seen <= 2 * sleepers);
}

} // namespace

int main() {
    alarm(hang_limit);
    in_child([] { refused_beside(50); });
    const rlimit limit{128 * MiB, 128 * MiB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    while (std::malloc(1000) != nullptr) {
    }
    faults::inject({SYS_mmap, ENOMEM, UINT_MAX, 0}); // counts them
    constexpr unsigned times = 10;
    for (const std::size_t size : {std::size_t{1000}, 100 * KiB}) {
        faults::seen = 0;
        for (unsigned i = 0; i < times; ++i) {
            CHECK(std::malloc(size) == nullptr);
        }
        CHECK(faults::seen >= times && faults::seen <= times * 48);
    }
}
