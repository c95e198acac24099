// SPDX-License-Identifier: MIT
// library: hardened
//
// Each misuse of memory in a process of its own under the hardened library: it ends by SIGABRT with the line that is
// expected, or at once by SIGSEGV where a guard page was touched. What realloc has made shorter is no misuse.
#include "process_test.hpp"

#include <csignal>
#include <malloc.h>
#include <new>
#include <sys/wait.h>

using namespace process_test;

extern "C" {
void free_sized(void *p, std::size_t size) __attribute__((weak));
void free_aligned_sized(void *p, std::size_t alignment, std::size_t size) __attribute__((weak));
}

namespace {

using Bytes = volatile unsigned char *;

Bytes get(std::size_t size) {
    auto *const p = static_cast<Bytes>(opaque(malloc(size)));
    CHECK(p != nullptr);
    return p;
}
Bytes get_shorter(std::size_t before, std::size_t size) {
    auto *const p = static_cast<Bytes>(opaque(realloc(std::memset(malloc(before), 0xff, before), size)));
    CHECK(p != nullptr);
    return p;
}
void put(Bytes p) {
    free(const_cast<unsigned char *>(opaque(p)));
}
void many_calls() {
    for (int i = 0; i < 20000; ++i) {
        put(get(100));
    }
}

struct Case {
    const char *name;
    const char *line; ///< on stderr; nullptr: SIGSEGV
    void (*run)();
};

constexpr std::size_t large = 100000;

const Case cases[] = {
    {"double free", "free of a block that was freed",
     [] {
         Bytes p = get(100);
         put(p);
         put(p);
     }},
    {"double free, much later", "free of",
     [] {
         Bytes p = get(100);
         put(p);
         many_calls();
         put(p);
     }},
    {"double free, large", "free of a block that was freed",
     [] {
         Bytes p = get(large);
         put(p);
         put(p);
     }},
    {"double free, another thread", "free of a block that was freed",
     [] {
         Bytes p = get(100);
         put(p);
         in_thread([p] { put(p); });
     }},
    {"interior", "free of the middle of a live block", [] { put(get(100) + 16); }},
    {"interior, large", "free of the middle of a live block", [] { put(get(large) + 16); }},
    {"misaligned", "free of the middle of a live block", [] { put(get(100) + 1); }},
    {"stack", "free of what is no block",
     [] {
         int i = 0;
         free(opaque(&i));
     }},
    {"never allocated", "free of", [] { put(get(1000) - (64 * KiB)); }},
    {"realloc of the inside", "free of the middle of a live block",
     [] { opaque(realloc(const_cast<unsigned char *>(get(100)) + 16, 50)); }},
    {"usable size of a freed block", "use of what is no live block",
     [] {
         Bytes p = get(100);
         put(p);
         opaque(malloc_usable_size(const_cast<unsigned char *>(p)));
     }},
    {"a byte behind the end", "written behind the end of a block",
     [] {
         Bytes p = get(100);
         p[100] = 1;
         put(p);
     }},
    {"a byte behind the end of 16", "written behind the end of a block",
     [] {
         Bytes p = get(16);
         p[16] = 1;
         put(p);
     }},
    {"a byte behind the end, large", "written behind the end of a block",
     [] {
         Bytes p = get(large + 1);
         p[large + 1] = 1;
         put(p);
     }},
    {"a byte behind the end of a shorter realloc", "written behind the end of a block",
     [] {
         Bytes p = get_shorter(100, 60);
         p[60] = 1;
         put(p);
     }},
    {"16 bytes behind the end of a shorter realloc, large", nullptr,
     [] { get_shorter(large, large - 1000 + 8)[large - 1000 + 24] = 1; }},
    {"16 bytes behind the end, large", nullptr, [] { get(large + 8)[large + 24] = 1; }},
    {"a page before, large", nullptr, [] { get(large)[-4096] = 1; }},
    {"write after free", "written into a freed block",
     [] {
         Bytes p = get(100);
         put(p);
         p[50] = 1;
         many_calls();
     }},
    {"write after free, large", nullptr,
     [] {
         Bytes p = get(large);
         put(p);
         p[50] = 1;
     }},
    {"read after free, large", nullptr,
     [] {
         Bytes p = get(large);
         put(p);
         opaque(p[50]);
     }},
    {"wrong size", "wrong size", [] { free_sized(malloc(100), opaque(std::size_t{99})); }},
    {"wrong alignment", "wrong alignment", [] { free_aligned_sized(malloc(large), opaque(4 * MiB), large); }},
    {"delete with a wrong size", "wrong size",
     [] { ::operator delete(::operator new(40), opaque(std::size_t{48})); }},
    {"delete[] with a wrong size", "wrong size",
     [] { ::operator delete[](::operator new[](40), opaque(std::size_t{48})); }},
    {"delete with a wrong alignment", "wrong alignment",
     [] { ::operator delete(malloc(large), std::align_val_t{opaque(4 * MiB)}); }},
};

void expect(const Case &one) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        one.run();
        _exit(0);
    }
    close(ends[1]);
    char text[1000];
    std::size_t length = 0;
    for (ssize_t n = 0; (n = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) {
        length += static_cast<std::size_t>(n);
    }
    text[length] = 0;
    close(ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool right = one.line == nullptr ? signal == SIGSEGV
                                           : signal == SIGABRT && std::strncmp(text, "cairn: ", 7) == 0 &&
                                                 std::strstr(text, one.line) != nullptr &&
                                                 std::strchr(text, '\n') == text + length - 1;
    if (!right) {
        dprintf(2, "%s: wait status %#x, said: %s\n", one.name, static_cast<unsigned>(status), text);
        _exit(1);
    }
}

/// The size of a block is what realloc was asked for.
void sizes_after_realloc() {
    for (const std::size_t before : {std::size_t{100}, std::size_t{20000}, large}) {
        for (const std::size_t size :
             {before - 1, before / 2 + 1, before / 2 - 1, before / 10, before + 1, before * 10}) {
            auto *const p = static_cast<char *>(opaque(realloc(malloc(before), size)));
            CHECK(p != nullptr && malloc_usable_size(p) == size);
            std::memset(p, 1, size);
            free_sized(p, size);
        }
    }
}

/// Where blocks lie tells nothing about the next one, and no freed block comes back soon.
void placement() {
    unsigned neighbours = 0;
    Bytes last = get(48);
    for (int i = 0; i < 1000; ++i) {
        Bytes p = get(48);
        const auto distance = p > last ? p - last : last - p;
        neighbours += distance <= 64 ? 1 : 0;
        last = p;
    }
    CHECK(neighbours < 50);
    Bytes p = get(300);
    put(p);
    for (int i = 0; i < 1000; ++i) {
        Bytes q = get(300);
        CHECK(q != p);
        put(q);
    }
}

} // namespace

int main() {
    for (const Case &one : cases) {
        expect(one);
    }
    sizes_after_realloc();
    placement();
    dprintf(1, "%zu kinds of misuse stopped\n", sizeof cases / sizeof *cases);
}
