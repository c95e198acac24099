/* SPDX-License-Identifier: MIT
 *
 * malloc WHERE: whose malloc do this program and the C library call? Ends with 0 when it is that of WHERE,
 * which is part of a library's file name, or "static": the program itself. malloc --version prints Cairn's
 * version. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef UNAWARE
#include <cairn/cairn.h>
#endif

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
#ifndef UNAWARE
    if (strcmp(argv[1], "--version") == 0)
        return puts(cairn_version()) < 0;
#endif

    /* What the dynamic linker finds first is what libc's own calls reach. */
    Dl_info found, own;
    void *const symbol = dlsym(RTLD_DEFAULT, "malloc");
    if (symbol == NULL || dladdr(symbol, &found) == 0 || dladdr((void *)&main, &own) == 0)
        return 3;
    if (strcmp(argv[1], "static") == 0 ? found.dli_fbase != own.dli_fbase
                                       : strstr(found.dli_fname, argv[1]) == NULL) {
        fprintf(stderr, "malloc is that of %s, expected: %s\n", found.dli_fname, argv[1]);
        return 1;
    }
#ifndef UNAWARE
    char *const text = strdup(cairn_version());
    const int same = text != NULL && strcmp(text, cairn_version()) == 0;
    free(text);
    if (!same)
        return 4;
#endif
    return 0;
}
