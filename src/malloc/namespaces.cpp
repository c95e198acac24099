// SPDX-License-Identifier: MIT
//
// Namespaces: unshare and setns with a user namespace need a process of one thread, and a program that has one does not
// know of the purger. When the kernel refuses, the purger leaves, and the kernel is asked again; another one is started
// when memory grows.
#include "purger.hpp"

#include <cairn/platform/features.hpp>
#include <cairn/platform/futex.hpp>

#include <atomic>
#include <cerrno>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cairn::process_heap {
namespace {

/// Whether a call may have been refused because the process has several threads. EUSERS: with a time namespace.
bool may_be_for_threads(int error) {
    return error == EINVAL || error == EUSERS;
}

/// The kernel still counts a thread that has just left, until it is gone altogether.
template <class Call>
int call_alone(Call call) noexcept {
    constexpr int most_tries = 20;
    std::atomic<std::uint32_t> never{0};
    long result = call();
    if (result != 0 && may_be_for_threads(errno) && purger::leave()) {
        for (int i = 0; i < most_tries && (result = call()) != 0 && may_be_for_threads(errno); ++i) {
            platform::futex_wait(never, 0, 1); // leaves errno as it is, and is no cancellation point
        }
    }
    return static_cast<int>(result);
}

} // namespace
} // namespace cairn::process_heap

// Not noexcept: malloc.cpp. Weak, for programs that are linked with the archive: one that defines one of the two itself
// gets the other one with this file.
extern "C" [[gnu::weak]] CAIRN_EXPORT int unshare(int flags) {
    return cairn::process_heap::call_alone([=] { return syscall(SYS_unshare, flags); });
}

extern "C" [[gnu::weak]] CAIRN_EXPORT int setns(int fd, int type) {
    return cairn::process_heap::call_alone([=] { return syscall(SYS_setns, fd, type); });
}
