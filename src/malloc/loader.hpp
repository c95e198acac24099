// SPDX-License-Identifier: MIT
//
// Loader: its functions, absent in a static program that loads nothing. Another name and a weak symbol: a direct
// reference would put the loader into each static program.
#pragma once

#include <dlfcn.h>

extern "C" {
[[gnu::weak]] int dl_address(const void *, Dl_info *) asm("dladdr");
[[gnu::weak]] void *dl_symbol(void *, const char *) asm("dlsym");
[[gnu::weak]] char *dl_error() asm("dlerror");
}
