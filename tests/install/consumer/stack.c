// SPDX-License-Identifier: MIT
//
// A consumer of libcairn-stack.a: says <obstack.h> and gets Cairn's.
#include <obstack.h>

#include <cairn/xalloc.h>
#include <stdlib.h>
#include <string.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#ifndef CAIRN_OBSTACK_H
#error "this is the C library's <obstack.h>"
#endif

int main(void) {
    struct obstack h;
    char *name;
    char *block = xalloc(10);
    obstack_init(&h);
    name = obstack_copy0(&h, "cairn", 5);
    if (strcmp(name, "cairn") != 0 || block == NULL)
        return 1;
    obstack_free(&h, NULL);
    xfree(block);
    return 0;
}
