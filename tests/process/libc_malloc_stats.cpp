// SPDX-License-Identifier: MIT
//
// malloc_stats: a summary on stderr, at any time; it waits for room in a pipe that does not block.
#include "full_pipe.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

const char *said;

void *reads_later(void *pipe) {
    sleep_seconds(0.1);
    said = static_cast<FullPipe *>(pipe)->read_rest();
    return nullptr;
}

void waits_for_room() {
    FullPipe full;
    const int saved = dup(2);
    pthread_t reader;
    CHECK(pthread_create(&reader, nullptr, reads_later, &full) == 0);
    CHECK(dup2(full.writing_end(), 2) == 2);
    malloc_stats();
    CHECK(dup2(saved, 2) == 2);
    full.close_writing_end();
    CHECK(pthread_join(reader, nullptr) == 0);
    CHECK(std::strncmp(said, "cairn ", 6) == 0 && std::strstr(said, ": memory of process ") != nullptr);
}

} // namespace

int main() {
    waits_for_room();
    void *const block = std::malloc(3 * MiB);
    int ends[2];
    static char text[64 * KiB];
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
