// SPDX-License-Identifier: MIT
//
// jemalloc's functions for blocks, which programs use that were linked with it: their blocks are malloc's.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

extern "C" {
[[gnu::weak]] void *mallocx(std::size_t, int);
[[gnu::weak]] void *rallocx(void *, std::size_t, int);
[[gnu::weak]] std::size_t xallocx(void *, std::size_t, std::size_t, int);
[[gnu::weak]] std::size_t sallocx(const void *, int);
[[gnu::weak]] void dallocx(void *, int);
[[gnu::weak]] void sdallocx(void *, std::size_t, int);
[[gnu::weak]] std::size_t nallocx(std::size_t, int);
}

namespace {

constexpr int zeroed = 0x40;

bool holds(const unsigned char *p, std::size_t from, std::size_t end, unsigned char value) {
    for (std::size_t i = from; i < end; ++i) {
        if (p[i] != value) {
            return false;
        }
    }
    return true;
}

void dirty(std::size_t size) {
    void *const p = opaque(malloc(size));
    std::memset(p, 0xff, malloc_usable_size(p));
    free(p);
}

void one(std::size_t size, int lg_alignment, int flags) {
    const std::size_t alignment = std::size_t{1} << lg_alignment;
    dirty(size);
    auto *p = static_cast<unsigned char *>(mallocx(size, flags | lg_alignment));
    CHECK(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    std::size_t usable = malloc_usable_size(p);
    const std::size_t promised = nallocx(size, flags | lg_alignment);
    CHECK(usable >= promised && promised >= size && sallocx(p, 0) == usable);
    CHECK(usable == promised || size > 64 * KiB);
    CHECK(flags == 0 || holds(p, 0, usable, 0));
    CHECK(xallocx(p, 2 * size, 0, 0) == usable);
    std::memset(p, 1, usable);
    for (const std::size_t to : {size + size / 4, 3 * size, 20 * size, size / 2, std::size_t{1}}) {
        const std::size_t before = usable;
        dirty(to);
        p = static_cast<unsigned char *>(rallocx(p, to, flags | lg_alignment));
        CHECK(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
        usable = malloc_usable_size(p);
        CHECK(usable >= to && usable >= nallocx(to, flags | lg_alignment));
        const std::size_t kept = before < to ? before : to;
        CHECK(holds(p, 0, kept, 1));
        CHECK(flags == 0 || usable <= before || holds(p, before, usable, 0));
        std::memset(p, 1, usable);
    }
    size % 2 == 0 ? dallocx(p, 0) : sdallocx(p, 1, lg_alignment);
}

/// A block that lies well by chance is not kept where it is shorter than nallocx says.
void long_enough_for_its_alignment() {
    for (int i = 0; i < 8; ++i) { // every second one lies at a multiple of 8 KiB
        void *const p = rallocx(mallocx(4096, 12), 4096, 13);
        CHECK(malloc_usable_size(p) >= nallocx(4096, 13));
        std::memset(p, 1, nallocx(4096, 13));
    }
}

/// A program that asks for zeros each time finds zeros in every byte that it did not write, whichever way the size
/// goes: rallocx clears from the former end of the block on, so what lies before it has to come along.
void zeros_come_along(std::size_t first, std::size_t second, int lg_alignment) {
    auto *p = static_cast<unsigned char *>(mallocx(first, zeroed | lg_alignment));
    p[0] = 1;
    dirty(second);
    void *const dirtied = opaque(mallocx(second, lg_alignment));
    std::memset(dirtied, 0xff, malloc_usable_size(dirtied));
    dallocx(dirtied, 0);
    p = static_cast<unsigned char *>(rallocx(p, second, zeroed | lg_alignment));
    const std::size_t third = malloc_usable_size(p);
    p = static_cast<unsigned char *>(rallocx(p, third, zeroed | lg_alignment));
    CHECK(p[0] == 1 && holds(p, 1, third, 0));
    dallocx(p, 0);
}

} // namespace

int main() {
    CHECK(mallocx != nullptr && nallocx != nullptr);
    long_enough_for_its_alignment();
    zeros_come_along(1, 2, 0);
    zeros_come_along(1, 2, 6);
    zeros_come_along(1, 2, 12);
    zeros_come_along(1, 2, 17);
    zeros_come_along(100, 20, 0);
    zeros_come_along(300000, 70001, 0);
    zeros_come_along(300000, 70001, 12);
    for (const std::size_t size : {1, 8, 9, 100, 4000, 9000, 65536, 65537, 300000}) {
        for (const int lg_alignment : {0, 3, 4, 6, 12}) {
            one(size, lg_alignment, 0);
            one(size, lg_alignment, zeroed);
        }
    }
    free(mallocx(100, 0));
    dallocx(malloc(100), 0);
    CHECK(mallocx(SIZE_MAX / 2 + 1, 0) == nullptr && nallocx(SIZE_MAX, 0) == 0);
}
