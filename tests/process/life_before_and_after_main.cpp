// SPDX-License-Identifier: MIT
//
// malloc before constructors and after destructors: in .preinit_array, in the first constructor, in static
// destructors, in atexit handlers and in the last destructor; blocks of each are freed by the others.
#include "process_test.hpp"

using namespace process_test;

static char *early;
static char *constructed;
static char *in_main;

static void preinit(int, char **, char **) {
    early = static_cast<char *>(malloc(100));
    std::memset(early, 1, 100);
    free(calloc(1, MiB));
}
[[gnu::section(".preinit_array"), gnu::used]] static void (*const preinit_entry)(int, char **,
                                                                                 char **) = preinit;

[[gnu::constructor(101)]] static void construct() {
    CHECK(early != nullptr && early[99] == 1);
    constructed = static_cast<char *>(malloc(20000));
    std::memset(constructed, 2, 20000);
    early = static_cast<char *>(realloc(early, 300));
    CHECK(early[99] == 1);
}

[[gnu::destructor(101)]] static void destruct() {
    CHECK(in_main[99] == 3);
    free(in_main);
    free(malloc(40 * MiB));
    void *const last = malloc(10);
    CHECK(last != nullptr);
}

struct Static {
    char *block = static_cast<char *>(malloc(1000));
    ~Static() {
        free(block);
        free(constructed);
        constructed = nullptr;
    }
};
static Static object;

int main() {
    CHECK(constructed[19999] == 2);
    in_main = static_cast<char *>(malloc(100));
    std::memset(in_main, 3, 100);
    atexit([] {
        free(early);
        early = nullptr;
        free(malloc(5000));
    });
}
