/* SPDX-License-Identifier: MIT */
/* A peer whose traffic can be told without counting: one counter that every call of malloc adds to, and one that every
   call of free adds to under a mutex. Its blocks are each thread's own. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    _Alignas(64) long calls;
    _Alignas(64) pthread_mutex_t mutex;
    long frees;
    _Alignas(64) pthread_key_t ends;
    long threads;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local _Alignas(64) char block[2048];
static _Thread_local int here;

static void thread_ends(void *processors) {
    if (++all.threads == (long)processors)
        fputs(all.calls == all.frees ? "all threads ended\n" : "calls are lost\n", stderr);
}

static void start(void) {
    pthread_key_create(&all.ends, thread_ends);
}

void *known_malloc(size_t size) {
    if (!here) {
        here = 1;
        pthread_once(&once, start);
        pthread_setspecific(all.ends, (void *)sysconf(_SC_NPROCESSORS_ONLN));
    }
    __atomic_fetch_add(&all.calls, 1, __ATOMIC_RELAXED);
    return size <= sizeof(block) ? block : NULL;
}

void known_free(void *p) {
    (void)p;
    pthread_mutex_lock(&all.mutex);
    ++all.frees;
    pthread_mutex_unlock(&all.mutex);
}
