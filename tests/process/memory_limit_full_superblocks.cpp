// SPDX-License-Identifier: MIT
//
// At a limit on address space a malloc that is refused looks at the superblocks of its class once, not at each call;
// and it has each block that is freed from then on, by whatever thread.
#include "process_test.hpp"

#include <atomic>
#include <sys/mman.h>
#include <sys/resource.h>

using namespace process_test;

namespace {

constexpr std::size_t size = 1000;
constexpr unsigned most = 1'000'000;
constexpr unsigned apart = 200; ///< of blocks that are in different superblocks
void **blocks;
unsigned count = 0;
std::atomic<unsigned> to_free{0}, freed{0};

/// Frees so many blocks, each in another superblock.
void free_some(unsigned some) {
    for (; some != 0; --some) {
        count -= apart;
        free(blocks[count]);
        blocks[count] = nullptr;
    }
}

void *frees(void *) {
    for (;;) {
        if (const unsigned some = to_free.exchange(0)) {
            free_some(some);
            freed = some;
        }
        usleep(100);
    }
}

void fill(unsigned expected) {
    for (unsigned i = 0; i < expected; ++i) {
        CHECK(malloc(size) != nullptr);
    }
    CHECK(malloc(size) == nullptr);
}

/// The bytes of a line "Referenced:" of /proc/self/smaps; 0 for another one, or in a mapping of a file: its pages count
/// as used also when another process has used them and ends.
std::size_t referenced(const char *line) {
    static bool is_of_file = false;
    unsigned long inode = 0;
    if (std::sscanf(line, "%*x-%*x %*s %*x %*x:%*x %lu", &inode) == 1) {
        is_of_file = inode != 0;
    }
    unsigned long kilobytes = 0;
    const bool counts = std::sscanf(line, "Referenced: %lu", &kilobytes) == 1 && !is_of_file;
    return counts ? kilobytes * KiB : 0;
}

std::size_t all_referenced() {
    const int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    std::size_t bytes = 0;
    char text[4096];
    char line[300];
    std::size_t length = 0;
    for (ssize_t n = 0; (n = read(fd, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < n; ++i) {
            if (text[i] != '\n') {
                line[length] = text[i];
                length += length + 1 < sizeof line;
                continue;
            }
            line[length] = 0;
            length = 0;
            bytes += referenced(line);
        }
    }
    close(fd);
    return bytes;
}

/// The memory that a refused call uses. 0 where the kernel does not say.
std::size_t looked_at() {
    const int refs = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (refs < 0) {
        return 0;
    }
    CHECK(write(refs, "1", 1) == 1 && close(refs) == 0);
    CHECK(malloc(size) == nullptr);
    return all_referenced();
}

} // namespace

int main() {
    alarm(hang_limit);
    void *const table =
        mmap(nullptr, most * sizeof(void *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(table != MAP_FAILED);
    blocks = static_cast<void **>(table);
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, frees, nullptr) == 0);
    const rlimit limit{768 * MiB, 768 * MiB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    while (count < most && (blocks[count] = malloc(size)) != nullptr) {
        ++count;
    }
    CHECK(count < most);
    const std::size_t bytes = looked_at();
    dprintf(1, "%u blocks, a refused call uses %zu KiB\n", count, bytes / KiB);
    CHECK(bytes < 700 * KiB);

    free_some(1);
    fill(1);
    free_some(100);
    fill(100);
    for (const unsigned some : {1u, 100u}) {
        freed = 0;
        to_free = some;
        while (freed != some) {
            usleep(100);
        }
        fill(some);
    }
    free_some(1);
    fill(1);
}
