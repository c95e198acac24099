// SPDX-License-Identifier: MIT
//
// Bad alloc: how a C++ interface reports that memory is out, and how a caller turns std::bad_alloc into nullptr.
//
// Adds:    throw_out_of_memory<E>(); null_for_bad_alloc(ask), which returns what ask() returns, or nullptr when ask()
//          throws std::bad_alloc, unless the caller says that the exception is to pass.
// Keeps:   other exceptions pass through. Without exceptions (-fno-exceptions) throw_out_of_memory() ends the program
//          with one line, and null_for_bad_alloc() only calls ask().
// Threads: any.
// Cost:    none where nothing is thrown.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <new>

namespace cairn::platform {

/// Throws an E, which is std::bad_alloc or derived from it: for an interface that cannot return nullptr.
template <class E = std::bad_alloc>
[[noreturn]] CAIRN_COLD CAIRN_BY_EXCEPTIONS void throw_out_of_memory() {
#if defined(__cpp_exceptions)
    throw E();
#else
    fatal({"out of memory, and there are no exceptions"});
#endif
}

template <class F>
CAIRN_BY_EXCEPTIONS void *null_for_bad_alloc(F ask, [[maybe_unused]] bool catches = true) {
#if defined(__cpp_exceptions)
    try {
        return ask();
    } catch (const std::bad_alloc &) {
        if (!catches) {
            throw;
        }
        return nullptr;
    }
#else
    return ask();
#endif
}

} // namespace cairn::platform
