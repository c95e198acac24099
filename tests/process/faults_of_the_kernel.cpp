// SPDX-License-Identifier: MIT
// env: CAIRN_OPTIONS=purge_delay:0
//
// The kernel refuses the malloc's N-th mmap, mremap, munmap, madvise or membarrier, or all from the N-th on: every
// answer is a good block or NULL and ENOMEM, contents stay, and the work goes on. Without an argument some N are tried;
// with --all every one; `CALL ERROR FIRST COUNT` tries one plan; --stopped waits for a debugger that injects faults.
#include "faults_injector.hpp"
#include "faults_work.hpp"

#include <sys/resource.h>

using namespace process_test;
using namespace process_test::faults;

namespace {

constexpr unsigned for_ever = 1u << 30;

struct Call {
    const char *name;
    long number;
    int errors[2];
    /// How many requests one refusal may cost. Purging, unmapping and fences are nobody's requests.
    unsigned costs;
    /// A limit on address space, in MiB: the malloc maps smaller steps, so there are more calls, and refusals anyway.
    unsigned limit;
};
constexpr Call calls[] = {
    {"mmap", SYS_mmap, {ENOMEM, EPERM}, 1, 0},
    {"mmap-limited", SYS_mmap, {ENOMEM, EPERM}, for_ever, 128},
    {"mremap", SYS_mremap, {ENOMEM, ENOSYS}, 0, 0},
    {"munmap", SYS_munmap, {ENOMEM, EPERM}, 0, 0},
    {"madvise", SYS_madvise, {ENOMEM, EPERM}, 0, 0},
    {"membarrier", SYS_membarrier, {EPERM, ENOSYS}, 0, 0},
};

[[noreturn]] void play(const Call &call, int error, unsigned first, unsigned count, int report) {
    alarm(hang_limit);
    if (call.limit != 0) {
        const rlimit limit{call.limit * MiB, call.limit * MiB};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    inject({call.number, error, first, count});
    work();
    const unsigned calls_made = seen;
    const unsigned failed = calls_made < first           ? 0
                            : calls_made - first < count ? calls_made - first + 1
                                                         : count;
    const bool any_may_be = call.costs == for_ever;
    if (!any_may_be && refused > failed * call.costs) {
        dprintf(2, "%u requests refused for %u failed calls\n", refused.load(), failed);
        _exit(1);
    }
    plan.count = 0; // the kernel grants everything again
    small_and_medium(3);
    large_and_huge();
    CHECK(any_may_be || refused <= failed * call.costs);
    CHECK(write(report, &calls_made, sizeof calls_made) == sizeof calls_made);
    _exit(0);
}

/// The calls that the library made until the kernel granted everything again.
unsigned run(const Call &call, int error, unsigned first, unsigned count) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        play(call, error, first, count, ends[1]);
    }
    close(ends[1]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    unsigned made = 0;
    const ssize_t length = read(ends[0], &made, sizeof made);
    close(ends[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        _exit(77);
    }
    if (status != 0 || length != sizeof made) {
        dprintf(2, "%s %s from call %u, %u times: wait status %#x\n", call.name, strerrorname_np(error),
                first, count, static_cast<unsigned>(status));
        _exit(1);
    }
    return made;
}

void try_all(bool every) {
    unsigned plans = 0;
    for (const Call &call : calls) {
        const unsigned made = run(call, ENOMEM, for_ever, 0);
        if (made == 0) {
            dprintf(2, "%s: the work makes no such call, or none is seen\n", call.name);
            _exit(1);
        }
        // The order of threads changes the number a little: go beyond it.
        const unsigned last = made + made / 8 + 2;
        const unsigned step = every ? 1 : 1 + made / 3;
        unsigned tried = 0, place = 0;
        for (const int error : call.errors) {
            for (unsigned first = 1 + plans % step; first <= last; first += step, ++place) {
                for (const unsigned count : {1u, 3u, for_ever}) {
                    if (every || count == 1 || count == (place % 3 == 1 ? for_ever : 3)) {
                        run(call, error, first, count);
                        ++tried;
                    }
                }
            }
        }
        plans += tried;
        dprintf(1, "%s: about %u calls, %u plans\n", call.name, made, tried);
    }
    dprintf(1, "%u plans: every answer was right\n", plans);
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 2 && std::strcmp(argv[1], "--stopped") == 0) {
        alarm(hang_limit);
        raise(SIGSTOP);
        work();
        return 0;
    }
    if (argc == 5) {
        for (const Call &call : calls) {
            if (std::strcmp(call.name, argv[1]) == 0) {
                const auto number = [&](int i) { return static_cast<unsigned>(std::atoi(argv[i])); };
                play(call, std::atoi(argv[2]), number(3), number(4), 1);
            }
        }
        return 2;
    }
    try_all(argc == 2 && std::strcmp(argv[1], "--all") == 0);
}
