// SPDX-License-Identifier: MIT
//
// The frees that say what they free, with a look at whether it is so. They take the place of those of src/malloc/, which
// do not look.
#include <src/family/process_heap.hpp>

#include <new>

#define CAIRN_STRICT __attribute__((visibility("default")))

namespace {

using cairn::process_heap::heap;

void free_checked(void *p, std::size_t size, std::size_t alignment) {
    if (p == nullptr) {
        return;
    }
    const std::size_t asked = heap.getSize(p);
    if (asked != (size == 0 ? 1 : size)) {
        cairn::platform::fatal({"wrong size: free of ", p, ", for which ", std::uint64_t{asked},
                                " bytes were asked, as a block of ", std::uint64_t{size}});
    }
    if (!cairn::is_aligned(p, alignment)) {
        cairn::platform::fatal(
            {"wrong alignment: free of ", p, " as a block aligned to ", std::uint64_t{alignment}});
    }
    heap.free(p);
}

void free_aligned(void *p, std::align_val_t alignment) {
    if (p != nullptr) {
        free_checked(p, heap.getSize(p), static_cast<std::size_t>(alignment));
    }
}

} // namespace

extern "C" {
CAIRN_STRICT void free_sized(void *p, std::size_t size) noexcept {
    free_checked(p, size, 1);
}
CAIRN_STRICT void free_aligned_sized(void *p, std::size_t alignment, std::size_t size) noexcept {
    free_checked(p, size, alignment);
}
}

CAIRN_STRICT void operator delete(void *p) noexcept {
    heap.free(p);
}
CAIRN_STRICT void operator delete[](void *p) noexcept {
    heap.free(p);
}
CAIRN_STRICT void operator delete(void *p, std::size_t size) noexcept {
    free_checked(p, size, 1);
}
CAIRN_STRICT void operator delete[](void *p, std::size_t size) noexcept {
    free_checked(p, size, 1);
}
CAIRN_STRICT void operator delete(void *p, std::size_t size, std::align_val_t alignment) noexcept {
    free_checked(p, size, static_cast<std::size_t>(alignment));
}
CAIRN_STRICT void operator delete[](void *p, std::size_t size, std::align_val_t alignment) noexcept {
    free_checked(p, size, static_cast<std::size_t>(alignment));
}
CAIRN_STRICT void operator delete(void *p, std::align_val_t alignment) noexcept {
    free_aligned(p, alignment);
}
CAIRN_STRICT void operator delete[](void *p, std::align_val_t alignment) noexcept {
    free_aligned(p, alignment);
}
