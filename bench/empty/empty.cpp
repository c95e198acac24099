// SPDX-License-Identifier: MIT
// Nothing but threads, all there at the same time, which use no heap: what is resident in every workload that has as
// many.
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <pthread.h>

using namespace cairn::bench;

namespace {

void *wait_for_all(void *all) {
    pthread_barrier_wait(static_cast<pthread_barrier_t *>(all));
    return nullptr;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "threads that do nothing (this lab's own)");
    const std::size_t threads = options.number("threads", 2, "threads");
    options.finish();

    Table<pthread_t> crew(threads);
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, static_cast<unsigned>(threads));
    for (std::size_t i = 0; i < threads; ++i)
        if (pthread_create(&crew[i], nullptr, wait_for_all, &all) != 0) {
            std::perror("pthread_create");
            return 4;
        }
    for (std::size_t i = 0; i < threads; ++i)
        pthread_join(crew[i], nullptr);
    std::printf("empty: %zu threads\n", threads);
}
