// SPDX-License-Identifier: MIT
//
// Immortal: an object with static storage whose destructor is never called. It can be used until the process has ended,
// and registers no function to run at exit.
//
//     constinit Immortal<Allocator> immortal;   // immortal.object
//
// Needs:   an object with a constexpr default constructor.
// Threads: those of the object.
// Cost:    none.
#pragma once

namespace cairn {

template <class T>
union Immortal {
    constexpr Immortal() : object() {}
    // Not defaulted: a defaulted destructor is deleted where T's is not trivial.
    constexpr ~Immortal() {} // NOLINT(modernize-use-equals-default)
    T object;
};

} // namespace cairn
