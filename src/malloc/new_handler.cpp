// SPDX-License-Identifier: MIT
//
// The only file of the library that is compiled with exceptions: a new-handler may throw, and so may the program's
// operator new.
#include "new_handler.hpp"
#include "loader.hpp"

// libstdc++'s and libc++abi's names; absent in a program without a C++ runtime, which has no handler either.
extern "C" {
[[gnu::weak]] std::new_handler cxx_get_new_handler() noexcept asm("_ZSt15get_new_handlerv");
}
// clang's code for the end of a noexcept function calls std::terminate.
asm(".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch, _ZSt9terminatev");

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

void *new_or_null(void *(*form)(std::size_t), std::size_t size) noexcept {
    try {
        return form(size);
    } catch (...) {
        return nullptr;
    }
}
void *new_or_null(void *(*form)(std::size_t, std::align_val_t), std::size_t size,
                  std::align_val_t alignment) noexcept {
    try {
        return form(size, alignment);
    } catch (...) {
        return nullptr;
    }
}

void *late_runtime(const char *name, const void *caller) noexcept {
    if (dl_address == nullptr || dl_symbol == nullptr) {
        return nullptr;
    }
    // Looked up by name: a static link warns of a direct reference to dlopen.
    auto *const dl_open = reinterpret_cast<decltype(&dlopen)>(dl_symbol(RTLD_DEFAULT, "dlopen"));
    auto *const dl_close = reinterpret_cast<decltype(&dlclose)>(dl_symbol(RTLD_DEFAULT, "dlclose"));
    Dl_info object{};
    if (dl_open == nullptr || dl_close == nullptr || dl_address(caller, &object) == 0) {
        return nullptr;
    }
    void *const library = dl_open(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) {
        return nullptr;
    }
    void *const function = dl_symbol(library, name); // in the library, or in one that it was linked with
    dl_close(library);                               // the library stays loaded: its code is running
    Dl_info found{};
    Dl_info own{};
    const bool is_other = dl_address(function, &found) != 0 &&
                          dl_address(reinterpret_cast<const void *>(&late_runtime), &own) != 0 &&
                          found.dli_fbase != own.dli_fbase;
    return is_other ? function : nullptr;
}

} // namespace cairn
