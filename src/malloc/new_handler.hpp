// SPDX-License-Identifier: MIT
//
// The program's parts of operator new: its new-handler, if it has a C++ runtime, and an operator new of its own.
#pragma once

#include <cstddef>
#include <new>

namespace cairn {

/// Calls the new-handler; its exceptions pass through. False if there is none.
bool call_new_handler();

/// Calls the new-handler, for the forms of operator new that do not throw. False if there is none, or if it threw.
bool call_new_handler_nothrow();

/// The result of the program's own operator new; nullptr if it throws.
void *new_or_null(void *(*form)(std::size_t), std::size_t size) noexcept;
void *new_or_null(void *(*form)(std::size_t, std::align_val_t), std::size_t size,
                  std::align_val_t alignment) noexcept;

/// A function of the C++ runtime that the code at `caller` uses, if that runtime was loaded by dlopen(), after this
/// library's weak references were resolved. nullptr if there is none, if the function is this library's own, or if the
/// loader has no memory to look it up.
void *late_runtime(const char *name, const void *caller) noexcept;

} // namespace cairn
