// SPDX-License-Identifier: MIT
//
// Libraries are loaded and unloaded in a loop while other threads allocate: their code and their thread-local
// memory come and go.
#include "process_test.hpp"

#include <atomic>
#include <dlfcn.h>

using namespace process_test;

int main() {
    static std::atomic<bool> stop;
    static unsigned loaded;
    std::size_t early = 0;
    in_threads(2, [&](unsigned i) {
        if (i == 0) {
            while (!stop) {
                free(malloc(1000));
            }
            return;
        }
        for (unsigned n = 0; n < 300; ++n) {
            for (const char *name : {"libm.so.6", "libstdc++.so.6", "libresolv.so.2", "libz.so.1"}) {
                if (void *library = dlopen(name, RTLD_NOW)) {
                    ++loaded;
                    dlclose(library);
                }
            }
            early = n == 50 ? resident() : early;
        }
        stop = true;
    });
    dprintf(1, "%u times loaded; after 50 rounds %.1f MiB, after 300 %.1f MiB\n", loaded, mebibytes(early),
            mebibytes(resident()));
    CHECK(loaded >= 300 && resident() < early + 4 * MiB);
}
