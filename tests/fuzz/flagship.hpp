// SPDX-License-Identifier: MIT
#pragma once

#include <allocators/cairn.hpp>

#include <cairn/core/immortal.hpp>

namespace cairn::process_heap {

struct Hooks {
    static bool attached();
    static void grew() noexcept {}
    static void surplus() noexcept {}
    static void returned() noexcept {}
};
using Flagship = cairn::Flagship<Hooks>;
inline constinit Immortal<Flagship> flagship;

/// The end of a thread hands its heap over.
inline bool Hooks::attached() {
    struct Ending {
        ~Ending() { flagship.object.detach(); }
    };
    thread_local const Ending ending;
    static_cast<void>(&ending);
    return true;
}

/// The one flagship as a heap below others.
class Allocator {
public:
    static void *malloc(std::size_t size) { return flagship.object.malloc(size); }
    static void free(void *p) { flagship.object.free(p); }
    static std::size_t getSize(void *p) { return flagship.object.getSize(p); }
    static void *memalign(std::size_t wanted, std::size_t size) {
        return flagship.object.memalign(wanted, size);
    }
    static void *reallocate(void *p, std::size_t size) { return flagship.object.reallocate(p, size); }
    static void *malloc_zeroed(std::size_t size) { return flagship.object.malloc_zeroed(size); }
};

} // namespace cairn::process_heap
