/* SPDX-License-Identifier: MIT
 *
 * malloc WHERE: whose malloc do this program and the C library call? Ends with 0 when it is that of WHERE,
 * which is part of a library's file name, or "static": the program itself. It calls neither malloc nor
 * anything of Cairn, so the link line alone must bring the malloc in. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    /* What the dynamic linker finds first is what libc's own calls reach. */
    Dl_info found, own;
    void *const symbol = dlsym(RTLD_DEFAULT, "malloc");
    if (symbol == NULL || dladdr(symbol, &found) == 0 || dladdr((void *)&main, &own) == 0)
        return 3;
    const int is_static = strcmp(argv[1], "static") == 0;
    if (is_static ? found.dli_fbase != own.dli_fbase : strstr(found.dli_fname, argv[1]) == NULL) {
        fprintf(stderr, "malloc is that of %s, expected: %s\n", found.dli_fname, argv[1]);
        return 1;
    }
    return 0;
}
