// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// While blocks that another thread has freed wait there to be given back, their owner frees one.
#include "process_test.hpp"

#include <semaphore.h>

using namespace process_test;

namespace {

void *blocks[2];
sem_t allocated, freed, over;

} // namespace

int main() {
    for (sem_t *s : {&allocated, &freed, &over}) {
        sem_init(s, 0, 0);
    }
    in_threads(2, [](unsigned i) {
        if (i == 0) {
            sem_wait(&allocated);
            free(blocks[0]);
            free(blocks[1]);
            sem_post(&freed);
            sem_wait(&over);
        } else {
            for (void *&p : blocks) {
                p = malloc(64);
            }
            announce(blocks[1]);
            sem_post(&allocated);
            sem_wait(&freed);
            free(opaque(blocks[1]));
            sem_post(&over);
        }
    });
}
