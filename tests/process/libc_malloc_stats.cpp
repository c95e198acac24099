// SPDX-License-Identifier: MIT
//
// malloc_stats: a summary on stderr, at any time.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    void *const block = std::malloc(3 * MiB);
    int ends[2];
    CHECK(pipe(ends) == 0);
    const int saved = dup(2);
    CHECK(dup2(ends[1], 2) == 2);
    malloc_stats();
    CHECK(dup2(saved, 2) == 2);
    char text[16 * KiB];
    const ssize_t n = read(ends[0], text, sizeof text - 1);
    CHECK(n > 0);
    text[n] = 0;
    CHECK(std::strncmp(text, "cairn ", 6) == 0);
    CHECK(std::strstr(text, ": memory of process ") != nullptr);
    CHECK(std::strstr(text, "(libc_malloc_stats)\n") != nullptr);
    CHECK(std::strstr(text, "    large           3.0 MiB  in 1 blocks\n") != nullptr);
    std::free(block);
}
