// SPDX-License-Identifier: MIT
//
// xalloc written by hand, for this one purpose: what <cairn/xalloc.h> promises, to compare with. A table beside the
// memory says where the blocks are, so nothing of it is like the library's.
#include <cairn/xalloc.h>
#include <errno.h>
#include <stdlib.h>

enum { most_blocks = 1 << 20, header = 16 };

static char *memory;
static size_t limit = XALLOC_DEFAULT_LIMIT;
static size_t start_of[most_blocks + 1]; // the last one: where the next block starts
static char used[most_blocks];
static int blocks;

int xalloc_init(size_t wanted) {
    free(memory);
    limit = wanted / 16 * 16;
    blocks = 0;
    memory = limit < header ? NULL : aligned_alloc(16, limit);
    if (memory == NULL)
        errno = ENOMEM;
    return memory == NULL ? -1 : 0;
}

size_t xalloc_remaining(void) {
    const size_t left = limit - start_of[blocks];
    return left < header ? 0 : left - header;
}

void *xalloc(size_t size) {
    if (memory == NULL && xalloc_init(limit) != 0)
        return NULL;
    if (limit - start_of[blocks] < header || size > xalloc_remaining() || blocks == most_blocks) {
        errno = ENOMEM;
        return NULL;
    }
    used[blocks] = 1;
    start_of[blocks + 1] = start_of[blocks] + header + (size + 15) / 16 * 16;
    return memory + start_of[blocks++] + header;
}

void xfree(void *block) {
    const size_t start = block == NULL ? 0 : (size_t)((char *)block - memory) - header;
    int low = 0;
    int high = blocks;
    if (block == NULL)
        return;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (start_of[middle] <= start)
            low = middle;
        else
            high = middle;
    }
    used[low] = 0;
    while (blocks > 0 && !used[blocks - 1])
        --blocks;
}

void xalloc_clear(void) {
    blocks = 0;
}
