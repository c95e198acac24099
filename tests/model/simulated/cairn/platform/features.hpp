// SPDX-License-Identifier: MIT
//
// In place of platform/features.hpp under the model checker: the same, but that no sanitizer is there. The compiler
// says so of its instrumentation, and what tells a sanitizer of an order that the kernel makes would hide one that is
// missing.
#pragma once

#pragma GCC system_header // #include_next

#define sanitized instrumented
#include_next <cairn/platform/features.hpp>
#undef sanitized

namespace cairn::platform {

inline constexpr bool sanitized = false;

} // namespace cairn::platform
