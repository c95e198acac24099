// SPDX-License-Identifier: MIT
//
// The child of a fork frees the 512 MiB that it has inherited, of the thread that forks and of another, and calls no
// more: a second later no more than 32 MiB are resident, though it has no helper thread. One that goes on with bursts
// has got one. And one whose parent has but small blocks, all of a thread that the child has not got, and that never
// allocates, gives that back as well.
#include "linked_blocks.hpp"

#include <sys/stat.h>

using namespace process_test;

static constexpr std::size_t sizes[] = {100, 5000, 500 * KiB, 32 * MiB};
static Node *lists[2][4];

static unsigned long threads() {
    struct stat tasks{};
    CHECK(stat("/proc/self/task", &tasks) == 0);
    return tasks.st_nlink - 2;
}

static void sleeps(const char *when) {
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "a second after %s: %.1f MiB\n", when, mebibytes(after));
    CHECK(after <= 32 * MiB);
}

static void frees_all() {
    alarm(hang_limit);
    for (auto &thread : lists) {
        for (Node *list : thread) {
            free_list(list);
        }
    }
    sleeps("what was inherited is freed");
    CHECK(threads() == 1); // free starts none
}

static void frees_and_goes_on() {
    frees_all();
    for (int i = 0; i < 3; ++i) {
        free_list(allocate_list(128 * MiB, 5000));
    }
    CHECK(threads() == 2);
    sleeps("bursts of the child's own");
}

int main() {
    alarm(hang_limit);
    in_threads(1, [](unsigned) {
        lists[1][0] = allocate_list(128 * MiB, sizes[0]);
        lists[1][1] = allocate_list(128 * MiB, sizes[1]);
    });
    in_child(frees_all);
    free_list(lists[1][0]);
    free_list(lists[1][1]);
    for (unsigned i = 0; i < 4; ++i) {
        lists[0][i] = allocate_list(64 * MiB, sizes[i]);
    }
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 2);
    in_threads(2, [](unsigned who) {
        if (who == 0) {
            for (unsigned i = 0; i < 4; ++i) {
                lists[1][i] = allocate_list(64 * MiB, sizes[i]);
            }
        }
        pthread_barrier_wait(&barrier);
        if (who == 1) {
            in_child(frees_and_goes_on);
        }
        pthread_barrier_wait(&barrier);
    });
}
