// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// While blocks that another thread has freed wait there to be given back, a third thread frees one.
#include "process_test.hpp"

#include <semaphore.h>

using namespace process_test;

namespace {

void *blocks[2];
sem_t freed, over;

} // namespace

int main() {
    for (sem_t *s : {&freed, &over}) {
        sem_init(s, 0, 0);
    }
    for (void *&p : blocks) {
        p = malloc(64);
    }
    announce(blocks[1]);
    in_threads(2, [](unsigned i) {
        if (i == 0) {
            free(blocks[0]);
            free(blocks[1]);
            sem_post(&freed);
            sem_wait(&over);
        } else {
            sem_wait(&freed);
            free(opaque(blocks[1]));
            sem_post(&over);
        }
    });
}
