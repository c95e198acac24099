// SPDX-License-Identifier: MIT
// library: hardened
//
// The children of one process get blocks at places of their own, which neither the others nor their parent can tell
// from theirs.
#include "process_test.hpp"

#include <array>
#include <sys/wait.h>

using namespace process_test;

namespace {

using Places = std::array<void *, 20>;

/// Where this process's next blocks lie.
Places places() {
    Places all;
    for (void *&p : all) {
        p = malloc(100);
        CHECK(p != nullptr);
    }
    return all;
}

Places of_a_child() {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const Places all = places();
        _exit(write(ends[1], &all, sizeof all) == sizeof all ? 0 : 1);
    }
    Places all{};
    int status = -1;
    CHECK(read(ends[0], &all, sizeof all) == sizeof all);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(ends[0]);
    close(ends[1]);
    return all;
}

void check_apart() {
    const Places first = of_a_child();
    const Places second = of_a_child();
    const Places own = places();
    CHECK(first != second);
    CHECK(first != own);
    CHECK(second != own);
}

} // namespace

int main() {
    check_apart();
    for (const void *p : places()) {
        CHECK(p != nullptr);
    }
    check_apart();
}
