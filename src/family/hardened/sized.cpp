// SPDX-License-Identifier: MIT
//
// The frees that say what they free, with a look at whether it is so. They take the place of those of src/malloc/,
// which do not look.
//
// A program may have its own operator delete and leave the forms that say a size or an alignment: those go through the
// program's then, as in src/malloc/new_delete.cpp. Its blocks are none of this heap, and there is nothing to look at.
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

// As they are here, whatever a program has.
extern "C" {
[[gnu::alias("_ZdlPv"), gnu::visibility("hidden")]] void cairn_own_delete(void *p) noexcept;
[[gnu::alias("_ZdaPv"), gnu::visibility("hidden")]] void cairn_own_delete_array(void *p) noexcept;
[[gnu::alias("_ZdlPvSt11align_val_t"), gnu::visibility("hidden")]] void
cairn_own_delete_aligned(void *p, std::align_val_t) noexcept;
[[gnu::alias("_ZdaPvSt11align_val_t"), gnu::visibility("hidden")]] void
cairn_own_delete_array_aligned(void *p, std::align_val_t) noexcept;
}

namespace {

using Plain = void (*)(void *) noexcept;
using Aligned = void (*)(void *, std::align_val_t) noexcept;

/// Through the loader's tables: the program's own where it has one.
template <class Form>
bool is_replaced(Form in_use, Form own) {
    asm("" : "+r"(in_use)); // the compiler takes them for one
    return in_use != own;
}

} // namespace

CAIRN_STRICT void operator delete(void *p) noexcept {
    heap.free(p);
}
CAIRN_STRICT void operator delete[](void *p) noexcept {
    is_replaced<Plain>(&::operator delete, cairn_own_delete) ? ::operator delete(p) : heap.free(p);
}
CAIRN_STRICT void operator delete(void *p, std::size_t size) noexcept {
    is_replaced<Plain>(&::operator delete, cairn_own_delete) ? ::operator delete(p)
                                                             : free_checked(p, size, 1);
}
CAIRN_STRICT void operator delete(void *p, std::align_val_t alignment) noexcept {
    free_aligned(p, alignment);
}
CAIRN_STRICT void operator delete[](void *p, std::align_val_t alignment) noexcept {
    is_replaced<Aligned>(&::operator delete, cairn_own_delete_aligned) ? ::operator delete(p, alignment)
                                                                       : free_aligned(p, alignment);
}
CAIRN_STRICT void operator delete(void *p, std::size_t size, std::align_val_t alignment) noexcept {
    is_replaced<Aligned>(&::operator delete, cairn_own_delete_aligned)
        ? ::operator delete(p, alignment)
        : free_checked(p, size, static_cast<std::size_t>(alignment));
}
CAIRN_STRICT void operator delete[](void *p, std::size_t size) noexcept {
    is_replaced<Plain>(&::operator delete[], cairn_own_delete_array) ||
            is_replaced<Plain>(&::operator delete, cairn_own_delete)
        ? ::operator delete[](p)
        : free_checked(p, size, 1);
}
CAIRN_STRICT void operator delete[](void *p, std::size_t size, std::align_val_t alignment) noexcept {
    is_replaced<Aligned>(&::operator delete[], cairn_own_delete_array_aligned) ||
            is_replaced<Aligned>(&::operator delete, cairn_own_delete_aligned)
        ? ::operator delete[](p, alignment)
        : free_checked(p, size, static_cast<std::size_t>(alignment));
}
