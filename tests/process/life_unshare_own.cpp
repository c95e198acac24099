// SPDX-License-Identifier: MIT
// link: a
//
// A program that is linked with libcairn.a may define unshare itself, and call setns.
#include "process_test.hpp"

#include <cerrno>
#include <sched.h>

namespace {

int calls;

} // namespace

extern "C" int unshare(int) {
    return ++calls;
}

int main() {
    free(malloc(100));
    CHECK(unshare(CLONE_NEWUSER) == 1 && calls == 1);
    CHECK(setns(-1, CLONE_NEWUSER) == -1 && errno == EBADF);
}
