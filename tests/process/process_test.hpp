// SPDX-License-Identifier: MIT
//
// Process test: the few things that the programs in this folder share. Nothing in here allocates.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/// For alarm: what ends a test that hangs. No test needs a twentieth of it on a machine that is not busy.
constexpr unsigned hang_limit = 600;

/// How long the threads of this process have been waiting for a processor, in seconds, as the kernel counts; -1 if it
/// does not.
inline double waited_for_processors() {
    const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(tasks >= 0);
    alignas(8) char entries[4096];
    double waited = 0;
    for (long length = 0; (length = syscall(SYS_getdents64, tasks, entries, sizeof entries)) > 0;) {
        // ino64, off64, u16 length, u8 type, name
        for (long at = 0; at < length; at += *reinterpret_cast<const std::uint16_t *>(entries + at + 16)) {
            const char *const name = entries + at + 19;
            char path[64];
            std::snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", name);
            const int fd = name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
            char text[100] = {};
            if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) {
                char *rest = nullptr;
                std::strtoull(text, &rest, 10); // it ran
                waited += static_cast<double>(std::strtoull(rest, nullptr, 10)) * 1e-9;
            } else if (name[0] != '.') {
                waited = -1e9;
            }
            if (fd >= 0) {
                close(fd);
            }
        }
    }
    close(tasks);
    return waited < 0 ? -1 : waited;
}

/// Looks at `bytes()` until it is at most `most`, for 1.2 s; on a busy machine longer, by what kept this process's
/// threads from running. No call of the malloc meanwhile. What `bytes()` was in the end.
template <class F>
std::size_t bytes_after_a_second(F bytes, std::size_t most) {
    constexpr double step = 0.02;
    constexpr double uncounted = 30;
    const double start = seconds();
    const double waited = waited_for_processors();
    double late = 0;
    std::size_t now = 0;
    while ((now = bytes()) > most) {
        const double since = waited_for_processors();
        const double kept_from_running = waited < 0 || since < 0 ? uncounted : since - waited + late;
        const double asleep = seconds();
        if (asleep - start > 1.2 + 2 * kept_from_running) {
            break;
        }
        sleep_seconds(step);
        late += seconds() - asleep - step;
    }
    return now;
}

inline std::size_t resident() {
    return proc_bytes("/proc/self/smaps_rollup", "\nRss:");
}

/// Whether the kernel gives huge pages also to who has not asked for any: what is resident then says little of what was
/// touched.
inline bool kernel_gives_huge_pages_unasked() {
    constexpr const char *setting = "/sys/kernel/mm/transparent_hugepage/enabled";
    char text[100] = "";
    if (access(setting, R_OK) == 0) {
        read_proc(setting, text, sizeof text);
    }
    return std::strstr(text, "[always]") != nullptr;
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

/// Blocks of `size` bytes, each written, for an array of pointers.
template <class Blocks>
void allocate_all(Blocks &blocks, std::size_t size) {
    for (auto &p : blocks) {
        p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
    }
}

template <class Blocks>
void free_all(const Blocks &blocks) {
    for (auto *p : blocks) {
        free(p);
    }
}

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

/// Runs `f()` in a child process, which must end with status 0.
template <class F>
void in_child(F f) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        f();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/// What `f()` answers in a child process.
template <class F>
auto of_child(F f) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    in_child([&] {
        const auto answer = f();
        CHECK(write(ends[1], &answer, sizeof answer) == sizeof answer);
    });
    decltype(f()) answer{};
    CHECK(read(ends[0], &answer, sizeof answer) == sizeof answer);
    close(ends[0]);
    close(ends[1]);
    return answer;
}

} // namespace process_test
