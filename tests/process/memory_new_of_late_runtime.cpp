// SPDX-License-Identifier: MIT
// ulimit-v: 131072
//
// The C++ runtime comes with a library that a C program loads: its operator new that finds no memory calls its
// new-handler and throws, and the nothrow forms return nullptr. This program is without one, so that it calls and
// throws by what it looks up.
#include "process_test.hpp"

#include <dlfcn.h>

using namespace process_test;

template <class Function>
static Function *find(void *library, const char *name) {
    auto *const function = reinterpret_cast<Function *>(dlsym(library, name));
    CHECK(function != nullptr);
    return function;
}

static void *reserve;
static int calls;
static void (*throw_bad_alloc)();

static void release_reserve() {
    ++calls;
    if (reserve == nullptr) {
        throw_bad_alloc();
    }
    free(reserve);
    reserve = nullptr;
}

int main() {
    CHECK(dlsym(RTLD_DEFAULT, "_ZSt7nothrow") == nullptr); // there is none yet
    void *const runtime = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (runtime == nullptr) {
        return 77;
    }
    // These call Cairn's throwing forms, and catch what those throw.
    auto *const make = find<void *(std::size_t, const void *)>(runtime, "_ZnwmRKSt9nothrow_t");
    auto *const make_array = find<void *(std::size_t, const void *)>(runtime, "_ZnamRKSt9nothrow_t");
    auto *const make_aligned =
        find<void *(std::size_t, std::size_t, const void *)>(runtime, "_ZnwmSt11align_val_tRKSt9nothrow_t");
    const void *const nothrow = dlsym(runtime, "_ZSt7nothrow");
    CHECK(make(GiB, nothrow) == nullptr);
    CHECK(make_array(GiB, nothrow) == nullptr);
    CHECK(make_aligned(GiB, 64, nothrow) == nullptr);

    throw_bad_alloc = find<void()>(runtime, "_ZSt17__throw_bad_allocv");
    reserve = malloc(64 * MiB);
    CHECK(reserve != nullptr);
    auto *const set_handler = find<void (*(void (*)()))()>(runtime, "_ZSt15set_new_handlerPFvvE");
    set_handler(release_reserve);
    void *const p = make(60 * MiB, nothrow);
    CHECK(p != nullptr && calls == 1 && reserve == nullptr);
    CHECK(make(60 * MiB, nothrow) == nullptr && calls == 2);
    free(p);
}
