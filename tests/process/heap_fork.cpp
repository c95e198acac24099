// SPDX-License-Identifier: MIT
//
// First-class heaps: the child of a fork has them whole, whatever other threads were doing in them.
// link: so
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <atomic>

using namespace process_test;

namespace {

cairn_heap *busy;
cairn_heap *quiet;
std::atomic<bool> stop{false};

void work(unsigned thread) {
    Random random(thread + 1);
    void *kept[100] = {};
    while (!stop.load()) {
        void *&p = kept[random.below(100)];
        cairn_heap_free(busy, p);
        p = cairn_heap_alloc(busy, random.below(50) == 0 ? random.below(300 * KiB) : random.below(2000));
        CHECK(p != nullptr);
        std::free(std::malloc(random.below(2000)));
        if (random.below(100) == 0) {
            cairn_heap_destroy(cairn_heap_create());
        }
    }
}

[[noreturn]] void child(char *small, char *large) {
    alarm(hang_limit); // a lock that nobody holds any more would hang it
    CHECK(std::strcmp(small, "small") == 0 && std::strcmp(large, "large") == 0);
    cairn_heap_free(quiet, small);
    cairn_heap_free(quiet, large);
    for (cairn_heap *h : {busy, quiet}) {
        for (std::size_t i = 0; i < 300; ++i) {
            void *const p = cairn_heap_alloc(h, i * i);
            CHECK(p != nullptr);
            std::memset(p, 1, i * i);
            if (i % 3 != 0) {
                cairn_heap_free(h, p);
            }
        }
        cairn_heap_destroy(h);
    }
    cairn_heap_destroy(cairn_heap_create());
    CHECK(cairn_statistics_json(nullptr, 0) > 0);
    _exit(0);
}

} // namespace

int main() {
    busy = cairn_heap_create();
    quiet = cairn_heap_create();
    auto *const small = static_cast<char *>(cairn_heap_alloc(quiet, 100));
    auto *const large = static_cast<char *>(cairn_heap_alloc(quiet, 100 * KiB));
    std::strcpy(small, "small");
    std::strcpy(large, "large");
    pthread_t threads[3];
    for (unsigned long i = 0; i < 3; ++i) {
        CHECK(pthread_create(
                  &threads[i], nullptr,
                  [](void *n) -> void * {
                      work(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(n)));
                      return nullptr;
                  },
                  reinterpret_cast<void *>(i)) == 0);
    }
    for (int i = 0; i < 200; ++i) {
        in_child([&] { child(small, large); });
    }
    stop.store(true);
    for (const pthread_t thread : threads) {
        CHECK(pthread_join(thread, nullptr) == 0);
    }
    CHECK(std::strcmp(small, "small") == 0 && std::strcmp(large, "large") == 0);
    cairn_heap_destroy(quiet);
    cairn_heap_destroy(busy);
}
