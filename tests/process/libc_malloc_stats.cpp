// SPDX-License-Identifier: MIT
//
// malloc_stats: a summary on stderr, at any time; it waits for room in a pipe that does not block.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

int ends[2];
char text[64 * KiB];
ssize_t last = 0; // bytes of the last read

void *reads_later(void *) {
    sleep_seconds(0.1);
    for (ssize_t n = 0; (n = read(ends[0], text, sizeof text - 1)) > 0;) {
        last = n;
        text[n] = 0;
    }
    return nullptr;
}

void waits_for_room() {
    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], text, 1) > 0) {
    }
    const int saved = dup(2);
    pthread_t reader;
    CHECK(pthread_create(&reader, nullptr, reads_later, nullptr) == 0);
    CHECK(dup2(ends[1], 2) == 2);
    malloc_stats();
    CHECK(dup2(saved, 2) == 2 && close(ends[1]) == 0);
    CHECK(pthread_join(reader, nullptr) == 0);
    CHECK(last > 100 && std::strstr(text, ": memory of process ") != nullptr);
}

} // namespace

int main() {
    waits_for_room();
    void *const block = std::malloc(3 * MiB);
    CHECK(pipe(ends) == 0);
    const int saved = dup(2);
    CHECK(dup2(ends[1], 2) == 2);
    malloc_stats();
    CHECK(dup2(saved, 2) == 2);
    const ssize_t n = read(ends[0], text, sizeof text - 1);
    CHECK(n > 0);
    text[n] = 0;
    CHECK(std::strncmp(text, "cairn ", 6) == 0);
    CHECK(std::strstr(text, ": memory of process ") != nullptr);
    CHECK(std::strstr(text, "(libc_malloc_stats)\n") != nullptr);
    CHECK(std::strstr(text, "    large           3.0 MiB  in 1 blocks\n") != nullptr);
    std::free(block);
}
