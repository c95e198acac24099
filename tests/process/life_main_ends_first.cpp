// SPDX-License-Identifier: MIT
//
// main ends by pthread_exit while other threads go on, with blocks of main's in their hands; the process ends
// with the last of them, through exit's handlers.
#include "process_test.hpp"

using namespace process_test;

static char *of_main[100];

static void *run(void *) {
    sleep_seconds(0.1); // main's heap was handed over meanwhile
    for (char *&p : of_main) {
        CHECK(p[99] == 9);
        p = static_cast<char *>(realloc(p, 3000));
        CHECK(p != nullptr && p[99] == 9);
        free(p);
    }
    return nullptr;
}

int main() {
    alarm(hang_limit);
    for (char *&p : of_main) {
        p = static_cast<char *>(malloc(100));
        std::memset(p, 9, 100);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, run, nullptr) == 0);
    pthread_detach(thread);
    pthread_exit(nullptr);
}
