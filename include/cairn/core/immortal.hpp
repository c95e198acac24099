// SPDX-License-Identifier: MIT
//
// Immortal: an object with static storage whose destructor never runs, so that it can be used until the process is gone,
// and registers nothing that would run at its end.
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
    // Not defaulted: that would be deleted where T's destructor does something.
    constexpr ~Immortal() {} // NOLINT(modernize-use-equals-default)
    T object;
};

} // namespace cairn
