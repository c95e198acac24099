// SPDX-License-Identifier: MIT
//
// Deep binding: a library that a program loads with RTLD_DEEPBIND finds malloc and free in the C library before those
// that were preloaded or linked, and so passes blocks of this heap to the C library's free. PHP loads its extensions in
// this way. This dlopen() removes the flag, unless CAIRN_OPTIONS has deep_binding:on, which the family does not read.
//
// A part of the shared libraries, not of the archive: a statically linked program has the C library's dlopen.
#include <cairn/platform/features.hpp>
#include <src/malloc/process.hpp>

#include <atomic>
#include <dlfcn.h>

#if defined(RTLD_DEEPBIND)

namespace {

using Dlopen = void *(const char *file, int mode);

/// relaxed: the address of a function; every thread that looks for it finds the same one.
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

/// Ends in a jump and not in a call, by the compiler options of this file: the C library searches for `file` in the
/// RUNPATH of the caller, which it finds by the return address.
extern "C" CAIRN_EXPORT void *dlopen(const char *file, int mode) noexcept {
    const int as_asked = cairn::process_heap::binds_deeply() ? mode : mode & ~RTLD_DEEPBIND;
    CAIRN_TAIL_CALL return next_dlopen()(file, as_asked);
}

#endif
