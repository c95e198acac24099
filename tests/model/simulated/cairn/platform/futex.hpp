// SPDX-License-Identifier: MIT
//
// In place of platform/futex.hpp under the model checker: the same, but that the clock stands still, so that a kernel
// does the same whenever it is run.
#pragma once

#pragma GCC system_header // #include_next

#include <ctime>

extern "C" int cairn_model_clock(clockid_t which, timespec *now);

#define clock_gettime cairn_model_clock
#include_next <cairn/platform/futex.hpp>
#undef clock_gettime
