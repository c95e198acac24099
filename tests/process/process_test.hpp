// SPDX-License-Identifier: MIT
//
// Process test: the few things that the programs in this folder share. Nothing in here allocates.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

/// Ends the program with status 1 and a line that says which condition did not hold.
#define CHECK(condition) ((condition) ? void() : process_test::failed(__FILE__, __LINE__, #condition))

namespace process_test {

constexpr std::size_t KiB = std::size_t{1} << 10;
constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr std::size_t GiB = std::size_t{1} << 30;

[[noreturn]] inline void failed(const char *file, int line, const char *condition) {
    dprintf(2, "%s:%d: does not hold: %s\n", file, line, condition);
    _exit(1);
}

/// The same value, about which the compiler knows nothing: it may neither warn nor conclude.
template <class T>
T opaque(T value) {
    asm volatile("" : "+r"(value) : : "memory");
    return value;
}

/// A line with an address, for the regular expression of expect-death to refer back to.
inline void announce(const void *p) {
    dprintf(2, "%p\n", p);
}

inline double seconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline void sleep_seconds(double s) {
    timespec time{static_cast<time_t>(s),
                  static_cast<long>((s - static_cast<double>(static_cast<long>(s))) * 1e9)};
    while (nanosleep(&time, &time) != 0) {
    }
}

/// The text of a file of /proc, from its start.
inline std::size_t read_proc(const char *path, char *text, std::size_t room) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    std::size_t length = 0;
    for (ssize_t n = 0; length + 1 < room && (n = read(fd, text + length, room - 1 - length)) > 0;) {
        length += static_cast<std::size_t>(n);
    }
    close(fd);
    text[length] = 0;
    return length;
}

/// The number of kilobytes behind a word of a file of /proc, in bytes.
inline std::size_t proc_bytes(const char *path, const char *word) {
    char text[4096];
    read_proc(path, text, sizeof text);
    const char *const at = std::strstr(text, word);
    CHECK(at != nullptr);
    return std::strtoull(at + std::strlen(word), nullptr, 10) * KiB;
}

inline std::size_t resident() {
    return proc_bytes("/proc/self/smaps_rollup", "\nRss:");
}

/// The most that was resident since the start of the process.
inline std::size_t peak_resident() {
    return proc_bytes("/proc/self/status", "VmHWM:");
}

inline std::size_t mappings() {
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    char text[4096];
    std::size_t lines = 0;
    for (ssize_t n = 0; (n = read(fd, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < n; ++i) {
            lines += text[i] == '\n' ? 1 : 0;
        }
    }
    close(fd);
    return lines;
}

inline double mebibytes(std::size_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(MiB);
}

/// xorshift64*, enough for sizes and orders.
class Random {
public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545F4914F6CDD1D;
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>((next() >> 33) % n); }

private:
    std::uint64_t state_;
};

/// Runs `f()` in a thread of its own and waits for its end.
template <class F>
void in_thread(F f) {
    pthread_t thread;
    CHECK(pthread_create(
              &thread, nullptr,
              [](void *argument) -> void * {
                  (*static_cast<F *>(argument))();
                  return nullptr;
              },
              &f) == 0);
    CHECK(pthread_join(thread, nullptr) == 0);
}

/// Runs `f(i)` in `count` threads at one time and waits for their end.
template <class F>
void in_threads(unsigned count, F f) {
    struct Argument {
        F *f;
        unsigned i;
    };
    constexpr unsigned most = 64;
    CHECK(count <= most);
    Argument arguments[most];
    pthread_t threads[most];
    for (unsigned i = 0; i < count; ++i) {
        arguments[i] = {&f, i};
        CHECK(pthread_create(
                  &threads[i], nullptr,
                  [](void *argument) -> void * {
                      auto *const a = static_cast<Argument *>(argument);
                      (*a->f)(a->i);
                      return nullptr;
                  },
                  &arguments[i]) == 0);
    }
    for (unsigned i = 0; i < count; ++i) {
        CHECK(pthread_join(threads[i], nullptr) == 0);
    }
}

} // namespace process_test
