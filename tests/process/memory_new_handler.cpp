// SPDX-License-Identifier: MIT
// ulimit-v: 131072
//
// operator new that finds no memory calls the new-handler until there is some or the handler gives up; the
// nothrow forms do the same.
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
