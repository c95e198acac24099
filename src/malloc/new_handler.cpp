// SPDX-License-Identifier: MIT
//
// The one file of the library that is compiled with exceptions: a new-handler may throw.
#include "new_handler.hpp"

#include <new>

// libstdc++'s and libc++abi's names; absent in a program without a C++ runtime, which has no handler either.
extern "C" {
[[gnu::weak]] std::new_handler cxx_get_new_handler() noexcept asm("_ZSt15get_new_handlerv");
}
asm(".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch");

namespace cairn {

bool call_new_handler() {
    const std::new_handler handler = cxx_get_new_handler != nullptr ? cxx_get_new_handler() : nullptr;
    if (handler != nullptr) {
        handler();
    }
    return handler != nullptr;
}

bool call_new_handler_nothrow() {
    try {
        return call_new_handler();
    } catch (...) {
        return false;
    }
}

} // namespace cairn
