/* SPDX-License-Identifier: MIT
 * A C program for the compilers' tests: enough macros, tables and loops to keep the optimiser busy. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cairn/cairn.h>)
#include <cairn/cairn.h>
#endif

#define ROUND(name, multiplier, shift)                                                                       \
    static uint64_t name(uint64_t value) {                                                                   \
        for (int i = 0; i < 64; i++) {                                                                       \
            value ^= value >> (shift);                                                                       \
            value *= (multiplier);                                                                           \
            if (value % 3 == (uint64_t)(i % 3)) {                                                            \
                value += (uint64_t)i << (shift);                                                             \
            }                                                                                                \
        }                                                                                                    \
        return value;                                                                                        \
    }
#define FOUR(name, multiplier)                                                                               \
    ROUND(name##_a, (multiplier), 7)                                                                         \
    ROUND(name##_b, (multiplier) + 2, 13)                                                                    \
    ROUND(name##_c, (multiplier) + 4, 17)                                                                    \
    ROUND(name##_d, (multiplier) + 6, 29)
FOUR(one, 0x9e3779b97f4a7c15u)
FOUR(two, 0xbf58476d1ce4e5b9u)
FOUR(three, 0x94d049bb133111ebu)
FOUR(four, 0xd6e8feb86659fd93u)

typedef uint64_t (*round_fn)(uint64_t);
static const round_fn rounds[] = {one_a,   one_b,   one_c,   one_d,   two_a,  two_b,  two_c,  two_d,
                                  three_a, three_b, three_c, three_d, four_a, four_b, four_c, four_d};

struct job {
    uint64_t start;
    uint64_t result;
    char *text;
};

static void *run(void *argument) {
    struct job *job = argument;
    uint64_t value = job->start;
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        value = rounds[i](value);
    }
    job->text = malloc(64);
    if (job->text != NULL) {
        snprintf(job->text, 64, "%016llx %.6f", (unsigned long long)value, sqrt((double)(value >> 40)));
    }
    job->result = value;
    return NULL;
}

int main(void) {
    struct job jobs[4] = {{.start = 1}, {.start = 2}, {.start = 3}, {.start = 4}};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, run, &jobs[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        puts(jobs[i].text);
        free(jobs[i].text);
    }
    return 0;
}
