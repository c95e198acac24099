// SPDX-License-Identifier: MIT
//
// Namespaces: unshare and setns with a user namespace need a process of one thread, and a program that has one does not
// know of the purger. When the kernel refuses, the purger leaves, and the kernel is asked again; another one is started
// when memory grows.
#include "loader.hpp"
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

/// The next function of the name: the C library's, or that of a library which is preloaded behind this one. nullptr in
/// a static program.
template <class Function>
Function *next(const char *name) noexcept {
    return dl_symbol != nullptr ? reinterpret_cast<Function *>(dl_symbol(RTLD_NEXT, name)) : nullptr;
}

/// Whether a call may have been refused because the process has several threads. EUSERS: with a time namespace.
bool may_be_for_threads(int error) {
    return error == EINVAL || error == EUSERS;
}

/// The kernel still counts a thread that has left until it is gone altogether: also one that has left before a fork.
template <class Call>
int call_alone(Call call) noexcept {
    constexpr int most_tries = 1000;
    std::atomic<std::uint32_t> never{0};
    long result = call();
    const int refusal = errno;
    if (result == 0 || !may_be_for_threads(refusal)) {
        return static_cast<int>(result);
    }
    if (!purger::leave()) {
        errno = refusal;
        return static_cast<int>(result);
    }
    // Twice without it: the kernel may find no thread of that number just before it counts one less.
    for (int tries = 0, alone = 0; tries < most_tries && alone < 2; ++tries) {
        alone += purger::has_thread() ? 0 : 1;
        result = call();
        if (result == 0 || !may_be_for_threads(errno)) {
            break;
        }
        platform::futex_wait(never, 0, 1); // leaves errno as it is, and is no cancellation point
    }
    return static_cast<int>(result);
}

} // namespace
} // namespace cairn::process_heap

// Not noexcept: malloc.cpp. Weak, for programs that are linked with the archive: one that defines one of the two itself
// gets the other one with this file.
extern "C" [[gnu::weak]] CAIRN_EXPORT int unshare(int flags) {
    auto *const next = cairn::process_heap::next<int(int)>("unshare");
    return cairn::process_heap::call_alone(
        [=] { return next != nullptr ? next(flags) : syscall(SYS_unshare, flags); });
}

extern "C" [[gnu::weak]] CAIRN_EXPORT int setns(int fd, int type) {
    auto *const next = cairn::process_heap::next<int(int, int)>("setns");
    return cairn::process_heap::call_alone(
        [=] { return next != nullptr ? next(fd, type) : syscall(SYS_setns, fd, type); });
}
