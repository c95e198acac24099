// SPDX-License-Identifier: MIT
//
// Statistics of the process, for programs that are linked with the library.
#pragma once

#include "process_test.hpp"

#include <cairn/cairn.h>

namespace process_test {

inline cairn_statistics statistics() {
    cairn_statistics s;
    s.size = sizeof s;
    CHECK(cairn_get_statistics(&s) == 0);
    return s;
}

} // namespace process_test
