// SPDX-License-Identifier: MIT
//
// New-handler: the program's, where it has a C++ runtime.
#pragma once

namespace cairn {

/// Calls it, and what it throws goes to the caller. False if there is none.
bool call_new_handler();

/// The same for the forms of operator new that do not throw. False also if it threw.
bool call_new_handler_nothrow();

/// A function of the C++ runtime that the code at `caller` runs on, where that came by dlopen, when the names above had long been
/// looked for. nullptr if there is none, it is this library's own, or the few bytes that the loader needs to find it are not there.
void *late_runtime(const char *name, const void *caller) noexcept;

} // namespace cairn
