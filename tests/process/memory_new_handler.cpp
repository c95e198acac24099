// SPDX-License-Identifier: MIT
// ulimit-v: 131072
//
// operator new that finds no memory calls the new-handler until there is some or the handler gives up; the
// nothrow forms do the same. What comes in the end is aligned as was asked.
#include "process_test.hpp"

#include <new>

using namespace process_test;

static void *reserve;
static int calls;

static void give_up() {
    ++calls;
    std::set_new_handler(nullptr);
}

static void release_reserve() {
    ++calls;
    CHECK(reserve != nullptr);
    free(reserve);
    reserve = nullptr;
}

int main() {
    reserve = malloc(64 * MiB);
    CHECK(reserve != nullptr);
    std::set_new_handler(release_reserve);
    void *const p = ::operator new(60 * MiB);
    CHECK(p != nullptr && calls == 1 && reserve == nullptr);
    ::operator delete(p);

    constexpr std::align_val_t alignment{4 * MiB};
    reserve = malloc(64 * MiB);
    CHECK(reserve != nullptr);
    void *aligned[32];
    unsigned count = 0;
    while (reserve != nullptr) {
        CHECK(count < sizeof aligned / sizeof *aligned);
        aligned[count] = ::operator new(5 * MiB, alignment);
        CHECK(reinterpret_cast<std::uintptr_t>(aligned[count++]) % static_cast<std::size_t>(alignment) == 0);
    }
    while (count != 0) {
        ::operator delete(aligned[--count], alignment);
    }
    CHECK(calls == 2);
    calls = 1;

    bool thrown = false;
    std::set_new_handler(give_up);
    try {
        opaque(::operator new(GiB));
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown && calls == 2);

    std::set_new_handler(give_up);
    CHECK(::operator new(GiB, std::nothrow) == nullptr &&calls == 3);
}
