// SPDX-License-Identifier: MIT
//
// Deep binding: a library that a program loads with RTLD_DEEPBIND looks for malloc and free in the C library before what was
// preloaded or linked, and so frees blocks of this heap there. PHP loads its extensions in that way. Libraries are loaded without
// that flag, unless CAIRN_OPTIONS has deep_binding:on, which the family does not read.
//
// A part of the shared libraries, not of the archive: a program that is linked statically has the C library's dlopen.
#include <cairn/platform/features.hpp>
#include <src/malloc/process.hpp>

#include <atomic>
#include <dlfcn.h>

#if defined(RTLD_DEEPBIND)

namespace {

using Dlopen = void *(const char *file, int mode);

/// relaxed: the address of a function, the same one whoever asks for it.
constinit std::atomic<Dlopen *> found{nullptr};

Dlopen *next_dlopen() noexcept {
    Dlopen *next = found.load(std::memory_order_relaxed);
    if (next == nullptr) {
        next = reinterpret_cast<Dlopen *>(dlsym(RTLD_NEXT, "dlopen"));
        found.store(next, std::memory_order_relaxed);
    }
    return next;
}

} // namespace

/// A jump at its end and not a call, by the options of this file: the C library looks for `file` where the caller's RUNPATH says, and
/// tells who that is from where it is to return.
extern "C" CAIRN_EXPORT void *dlopen(const char *file, int mode) noexcept {
    const int as_asked = cairn::process_heap::binds_deeply() ? mode : mode & ~RTLD_DEEPBIND;
    CAIRN_TAIL_CALL return next_dlopen()(file, as_asked);
}

#endif
