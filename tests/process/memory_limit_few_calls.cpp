// SPDX-License-Identifier: MIT
//
// At a limit on address space a malloc that is refused asks the kernel for memory some dozens of times, not hundreds:
// smaller and smaller parts in few steps, at no more places than may have another answer.
#include "faults_injector.hpp"

#include <sys/resource.h>

using namespace process_test;

int main() {
    alarm(hang_limit);
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
