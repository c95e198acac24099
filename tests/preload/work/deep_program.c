/* SPDX-License-Identifier: MIT */
/* Loads a library with RTLD_DEEPBIND and exchanges blocks with it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    void *const library = dlopen(arguments[count - 1], RTLD_NOW | RTLD_DEEPBIND);
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    char *(*const exchange)(char *) = (char *(*)(char *))dlsym(library, "exchange");
    void *(*const which_malloc)(void) = (void *(*)(void))dlsym(library, "which_malloc");
    int (*const loads_another)(void) = (int (*)(void))dlsym(library, "loads_another");
    const int one = which_malloc() == (void *)malloc;
    printf("one malloc: %s\n", one ? "yes" : "no");
    printf("the library's RUNPATH: %s\n", loads_another() ? "used" : "not used");
    printf("this program's: %s\n",
           dlopen("libanother.so", RTLD_NOW | RTLD_NOLOAD) != NULL ? "already loaded" : "none");
    for (int i = 0; one && i < 1000; ++i) {
        char *const block = exchange(strcpy(malloc(100 + (size_t)i), "passed on"));
        if (strcmp(block, "passed on") != 0) {
            return 2;
        }
        free(block);
    }
    printf("no such file: %s\n",
           dlopen("/none/libnone.so", RTLD_NOW | RTLD_DEEPBIND) == NULL ? dlerror() : "?");
    return 0;
}
