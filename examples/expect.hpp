// SPDX-License-Identifier: MIT
//
// expect: an assertion that release builds keep, so that an example that no longer does what it says fails.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void expect(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::exit(1);
    }
}
