// SPDX-License-Identifier: MIT
//
// Environment: a variable's value, read without libc's help, as getenv may be a program's own function.
//
// Errors:  nullptr when the variable is not set, when there is no environment yet, and when the program runs
//          with raised privileges: a user must not steer a set-user-ID program's memory.
// Threads: the start of the process, before there is a second thread.
#pragma once

#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>

namespace cairn {

inline const char *environment_value(const char *name) noexcept {
    if (environ == nullptr || getauxval(AT_SECURE) != 0) {
        return nullptr;
    }
    for (char **entry = environ; *entry != nullptr; ++entry) {
        std::size_t i = 0;
        while (name[i] != 0 && (*entry)[i] == name[i]) {
            ++i;
        }
        if (name[i] == 0 && (*entry)[i] == '=') {
            return *entry + i + 1;
        }
    }
    return nullptr;
}

} // namespace cairn
