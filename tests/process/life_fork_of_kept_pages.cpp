// SPDX-License-Identifier: MIT
//
// A program keeps pages of its blocks from its children (MADV_DONTFORK), as those do whose blocks a network card reads:
// the child of a fork, which has not got them, ends in order. Blocks of a thread that is still there, and of one that
// has ended, lie free around.
#include "process_test.hpp"

#include <sys/mman.h>

using namespace process_test;

namespace {

constexpr std::size_t count = 4000;
constexpr std::size_t size = 256;

/// A page of them, of which every other one is free, is not for children.
void make_blocks() {
    void *blocks[count];
    for (void *&block : blocks) {
        block = malloc(size);
        CHECK(block != nullptr);
    }
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto within = reinterpret_cast<std::uintptr_t>(blocks[count / 4]) / page * page;
    for (std::size_t i = 0; i < count; i += 2) {
        free(blocks[i]);
    }
    CHECK(madvise(reinterpret_cast<void *>(within), page, MADV_DONTFORK) == 0);
}

void check_child(bool allocates) {
    void *const mine = malloc(size);
    in_child([&] {
        if (allocates) {
            free(mine);
            CHECK(malloc(size) == mine); // of what this thread has: nothing else is looked at
        }
    });
    free(mine);
}

pthread_barrier_t made;

void *make_and_stay(void *) {
    make_blocks();
    pthread_barrier_wait(&made);
    pause();
    return nullptr;
}

} // namespace

int main() {
    in_threads(1, [](unsigned) { make_blocks(); });
    check_child(false);
    check_child(true);
    CHECK(pthread_barrier_init(&made, nullptr, 2) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, make_and_stay, nullptr) == 0);
    pthread_barrier_wait(&made);
    check_child(false);
    check_child(true);
}
