// SPDX-License-Identifier: MIT
//
// Environment: the value of a variable, read without getenv(), which the program may have replaced.
//
// Errors:  nullptr when the variable is not set, when there is no environment yet, and when the program runs with
//          raised privileges: a user must not control the memory of a set-user-ID program.
// Threads: the start of the process, before there is a second thread.
#pragma once

#include <cairn/platform/features.hpp>

#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>

namespace cairn {

/// In a constructor that runs before the C library sets `environ`: sets it. glibc passes it to constructors as the
/// third argument; with other C libraries the parameter is meaningless.
inline void set_environ_at_load([[maybe_unused]] char **environment) noexcept {
    if constexpr (platform::constructors_have_arguments) {
        environ = environ != nullptr ? environ : environment;
    }
}

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
