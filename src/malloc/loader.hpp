// SPDX-License-Identifier: MIT
//
// Loader: dlsym and dladdr, as weak references: they are absent in a static program that loads nothing.
#pragma once

#include <dlfcn.h>

extern "C" {
[[gnu::weak]] int dl_address(const void *, Dl_info *) asm("dladdr");
[[gnu::weak]] void *dl_symbol(void *, const char *) asm("dlsym");
}
