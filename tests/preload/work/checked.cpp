// SPDX-License-Identifier: MIT
// What memcheck must find, whoever's malloc the program has: a read behind a block, one of a block that is free, a
// second free, the wrong delete, memory that was never written, and what is lost at the end.
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <thread>

static char *volatile lost;

static void release(char *block) {
    free(block);
}

int main() {
    char *const block = static_cast<char *>(malloc(40));
    volatile char *const seen = block;
    std::printf("usable: %d\n", malloc_usable_size(block) >= 40);
    const char behind = seen[40];
    if (seen[7] == 'x') {
        std::puts("x");
    }
    std::thread(release, block).join();
    const char freed = seen[3];
    release(block);
    int *const array = new int[10]();
    delete array;
    void *aligned = nullptr;
    std::printf("aligned: %d\n", posix_memalign(&aligned, 4096, 100));
    lost = static_cast<char *>(realloc(aligned, 200));
    lost = static_cast<char *>(calloc(3, 111));
    lost = nullptr;
    static_cast<void>(behind), static_cast<void>(freed);
    return 0;
}
