// SPDX-License-Identifier: MIT
//
// C23's free_sized and free_aligned_sized, and the sized and aligned forms of operator delete, free blocks of
// every size.
#include "process_test.hpp"

#include <dlfcn.h>
#include <new>

using namespace process_test;

int main() {
    using FreeSized = void (*)(void *, std::size_t);
    using FreeAlignedSized = void (*)(void *, std::size_t, std::size_t);
    const auto free_sized = reinterpret_cast<FreeSized>(dlsym(RTLD_DEFAULT, "free_sized"));
    const auto free_aligned_sized =
        reinterpret_cast<FreeAlignedSized>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
    CHECK(free_sized != nullptr && free_aligned_sized != nullptr);
    free_sized(nullptr, 10);
    free_aligned_sized(nullptr, 16, 32);
    const std::size_t before = resident();
    for (int round = 0; round < 40; ++round) {
        for (std::size_t size = 1; size < 40 * MiB; size *= 3) {
            auto *p = static_cast<char *>(malloc(size));
            CHECK(p != nullptr);
            p[size - 1] = 1;
            free_sized(p, size);
            p = static_cast<char *>(aligned_alloc(128, size));
            CHECK(p != nullptr);
            p[size - 1] = 1;
            free_aligned_sized(p, 128, size);
            constexpr std::align_val_t line{64};
            ::operator delete(::operator new(size), size);
            ::operator delete[](::operator new[](size), size);
            ::operator delete(::operator new(size, line), size, line);
            ::operator delete[](::operator new[](size, line), size, line);
        }
    }
    CHECK(resident() < before + 64 * MiB); // they were freed
}
