// SPDX-License-Identifier: MIT
// The C library's malloc, until the 10,000th call of it or of realloc; then what the environment's BAD_MALLOC says:
//   crash    a store through a null pointer
//   hang     an endless sleep
//   overlap  the block that was handed out last, a second time; all have room for what is written to it then, or the C
//            library's heap would be damaged, and end the program before the workload finds out
//   null     NULL, from then on
//   forget   realloc gives a new block and copies nothing
//   dirty    calloc gives a block that is not zero
//   keep     free does nothing
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void __libc_free(void *block);
}

namespace {

constexpr int good_calls = 10000;
constexpr std::size_t room = 2048;
std::atomic<int> calls{0};
std::atomic<void *> last{nullptr};

bool asked_for(const char *way) {
    const char *chosen = std::getenv("BAD_MALLOC");
    return chosen != nullptr && std::strcmp(chosen, way) == 0;
}

bool now_asked_for(const char *way) {
    return calls.load(std::memory_order_relaxed) >= good_calls && asked_for(way);
}

} // namespace

extern "C" void *malloc(std::size_t size) {
    calls.fetch_add(1, std::memory_order_relaxed);
    if (now_asked_for("crash"))
        *static_cast<volatile int *>(nullptr) = 0;
    while (now_asked_for("hang"))
        pause();
    if (now_asked_for("overlap"))
        return last.load(std::memory_order_relaxed);
    if (now_asked_for("null"))
        return nullptr;
    void *block = __libc_malloc(size < room && asked_for("overlap") ? room : size);
    last.store(block, std::memory_order_relaxed);
    return block;
}

extern "C" void *calloc(std::size_t count, std::size_t size) {
    void *block = __libc_calloc(count, size);
    if (block != nullptr && now_asked_for("dirty"))
        std::memset(block, 1, count * size);
    return block;
}

extern "C" void *realloc(void *block, std::size_t size) {
    calls.fetch_add(1, std::memory_order_relaxed);
    return now_asked_for("forget") ? __libc_malloc(size) : __libc_realloc(block, size);
}

extern "C" void free(void *block) {
    if (!now_asked_for("keep"))
        __libc_free(block);
}
