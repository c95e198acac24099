// SPDX-License-Identifier: MIT
//
// Bad alloc: std::bad_alloc as nullptr, for who has an answer to it.
//
// Adds:    null_for_bad_alloc(ask): what ask() returns.
// Keeps:   other exceptions pass. Without exceptions (-fno-exceptions) ask() is called, and that is all.
// Threads: any.
// Cost:    none where nothing is thrown.
#pragma once

#include <new>

namespace cairn::platform {

template <class F>
void *null_for_bad_alloc(F ask) {
#if defined(__cpp_exceptions)
    try {
        return ask();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
#else
    return ask();
#endif
}

} // namespace cairn::platform
