/* SPDX-License-Identifier: MIT */
/* Forks while two threads use large blocks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int watches_forks(void);
static atomic_bool stop;

static void *use(void *unused) {
    free(malloc(64));
    while (!stop) {
        void *const p = malloc(200000);
        free(malloc(70000));
        free(p);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, use, NULL);
    }
    int good = 0;
    for (int i = 0; i < 300; ++i) {
        const pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        int status = 1;
        good += waitpid(pid, &status, 0) == pid && status == 0;
    }
    stop = 1;
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    printf("%d children ended well, %d\n", good, watches_forks());
    return 0;
}
