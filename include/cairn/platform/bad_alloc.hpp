// SPDX-License-Identifier: MIT
//
// Bad alloc: how C++ says that there is no memory, and std::bad_alloc as nullptr, for who has an answer to it.
//
// Adds:    throw_out_of_memory<E>(); null_for_bad_alloc(ask): what ask() returns.
// Keeps:   other exceptions pass. Without exceptions (-fno-exceptions) the first ends the program with one line, as its C++
//          library would, and the second calls ask(), and that is all.
// Threads: any.
// Cost:    none where nothing is thrown.
#pragma once

#include <cairn/platform/fatal.hpp>

#include <new>

namespace cairn::platform {

/// For an interface that has no other way to say it. E: std::bad_alloc or what is derived from it.
template <class E = std::bad_alloc>
[[noreturn]] CAIRN_COLD void throw_out_of_memory() {
#if defined(__cpp_exceptions)
    throw E();
#else
    fatal({"out of memory, and there are no exceptions"});
#endif
}

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
