/* SPDX-License-Identifier: MIT */
/* A library that watches forks from its constructor on, and whose handler in the child needs memory. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void in_child(void) {
    alarm(100);
    free(malloc(100000));
    alarm(0);
}

__attribute__((constructor)) static void watch(void) {
    pthread_atfork(NULL, NULL, in_child);
}

int watches_forks(void) {
    return 1;
}
