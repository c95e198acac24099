// SPDX-License-Identifier: MIT
//
// New-handler: the program's, where it has a C++ runtime.
#pragma once

namespace cairn {

/// Calls it, and what it throws goes to the caller. False if there is none.
bool call_new_handler();

/// The same for the forms of operator new that do not throw. False also if it threw.
bool call_new_handler_nothrow();

} // namespace cairn
