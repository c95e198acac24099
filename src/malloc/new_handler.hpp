// SPDX-License-Identifier: MIT
//
// What of C++ is the program's: its new-handler, where it has a C++ runtime, and an operator new of its own.
#pragma once

#include <cstddef>
#include <new>

namespace cairn {

/// Calls it, and what it throws goes to the caller. False if there is none.
bool call_new_handler();

/// The same for the forms of operator new that do not throw. False also if it threw.
bool call_new_handler_nothrow();

/// What a program's own operator new gives; nullptr if it throws.
void *new_or_null(void *(*form)(std::size_t), std::size_t size) noexcept;
void *new_or_null(void *(*form)(std::size_t, std::align_val_t), std::size_t size,
                  std::align_val_t alignment) noexcept;

/// A function of the C++ runtime that the code at `caller` runs on, where that came by dlopen, when the names above had long been
/// looked for. nullptr if there is none, it is this library's own, or the few bytes that the loader needs to find it are not there.
void *late_runtime(const char *name, const void *caller) noexcept;

} // namespace cairn
