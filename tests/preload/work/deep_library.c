/* SPDX-License-Identifier: MIT */
/* A library that asks for memory, frees what others have allocated, and loads another one from where its RUNPATH
   says. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

char *exchange(char *block) {
    block = realloc(block, 5000);
    char *const copy = strdup(block);
    free(block);
    return copy;
}

void *which_malloc(void) {
    return (void *)malloc;
}

int loads_another(void) {
    return dlopen("libanother.so", RTLD_NOW) != NULL;
}
