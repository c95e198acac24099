// SPDX-License-Identifier: MIT
//
// limits MIB: three threads hold MIB mebibytes at most, in blocks of one size after the other, all touched, and free
// them; each phase's blocks are another thread's to free. NULL is not expected. Prints the peak of resident memory.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { threads = 3, phases = 8 };
static const size_t sizes[phases] = {100, 3000, 40, 70000, 500, 1500000, 9000, 16};
static struct block {
    struct block *next;
} *lists[threads];
static size_t each;
static pthread_barrier_t together;

static void *work(void *argument) {
    const size_t me = (size_t)argument;
    for (int phase = 0; phase < phases; ++phase) {
        const size_t size = sizes[phase];
        for (size_t held = 0; held + size <= each; held += size) {
            struct block *const b = malloc(size);
            if (b == NULL) {
                fprintf(stderr, "NULL for %zu bytes with %zu held\n", size, held);
                exit(1);
            }
            memset(b, 1, size);
            b->next = lists[me];
            lists[me] = b;
        }
        pthread_barrier_wait(&together);
        struct block **const others = &lists[(me + 1) % threads];
        for (struct block *b = *others; b != NULL;) {
            struct block *const next = b->next;
            free(b);
            b = next;
        }
        *others = NULL;
        pthread_barrier_wait(&together);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t all[threads];
    each = (size_t)atoi(count > 1 ? arguments[1] : "30") * 1048576 / threads;
    pthread_barrier_init(&together, NULL, threads);
    for (size_t i = 0; i < threads; ++i) {
        if (pthread_create(&all[i], NULL, work, (void *)i) != 0) {
            return 1;
        }
    }
    for (size_t i = 0; i < threads; ++i) {
        pthread_join(all[i], NULL);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld MiB resident at most\n", usage.ru_maxrss / 1024);
    return 0;
}
