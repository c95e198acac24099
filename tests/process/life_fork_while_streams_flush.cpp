// SPDX-License-Identifier: MIT
//
// Forks while other threads read lines into buffers that getline allocates and flush all streams: what the C library
// locks for fork, for fflush(nullptr) and for a stream, it locks around malloc's own locks. Nothing hangs.
#include "process_test.hpp"

#include <atomic>

using namespace process_test;

static std::atomic<bool> stop;

static void read_lines(bool once) {
    do {
        FILE *const file = fopen("/proc/self/maps", "r");
        CHECK(file != nullptr);
        char *line = nullptr;
        std::size_t room = 0;
        while (getline(&line, &room, file) > 0) {
            free(line); // the next line has to be allocated, too
            line = nullptr;
            room = 0;
        }
        free(line);
        fclose(file);
    } while (!once && !stop);
}

int main() {
    alarm(hang_limit);
    in_threads(4, [](unsigned i) {
        if (i < 2) {
            read_lines(false);
            return;
        }
        if (i == 2) {
            while (!stop) {
                fflush(nullptr);
            }
            return;
        }
        const double end = seconds() + 1;
        for (int n = 0; n < 1000 && seconds() < end; ++n) {
            in_child([] {
                alarm(hang_limit);
                fflush(nullptr);
                read_lines(true);
            });
        }
        stop = true;
    });
}
