// SPDX-License-Identifier: MIT
//
// Faults, the work: what a program asks of a malloc, in a few milliseconds and all kinds of sizes, threads, ends of
// threads, a fork and a trim, with the contents of every block checked. It goes on when it is answered NULL.
#pragma once

#include "process_test.hpp"

#include <malloc.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace process_test::faults {

/// How often the malloc answered that there is no memory.
inline std::atomic<unsigned> refused{0};

inline unsigned char *granted(void *p) {
    if (p == nullptr) {
        CHECK(errno == ENOMEM);
        ++refused;
    }
    return static_cast<unsigned char *>(p);
}

/// A block that knows its contents: the first bytes, one of each page and later of every 16 pages, the last.
struct Block {
    unsigned char *p = nullptr;
    std::size_t size = 0;
    unsigned char value = 0;

    /// What was written lies below `size`, what is looked at below `end` too.
    template <class F>
    void each(std::size_t end, F f) const {
        for (std::size_t i = 0; i < end && i < size; i += i < 32         ? 1
                                                          : i < 4096     ? 61
                                                          : i < 64 * KiB ? 4096
                                                                         : 64 * KiB) {
            f(p[i]);
        }
        if (size != 0 && size <= end) {
            f(p[size - 1]);
        }
    }
    void fill(std::size_t n, unsigned char v) {
        size = n;
        value = v;
        each(n, [v](unsigned char &byte) { byte = v; });
    }
    void check(std::size_t end, unsigned char wanted) const {
        each(end, [wanted](unsigned char byte) { CHECK(byte == wanted); });
    }
    bool get(std::size_t n, unsigned char v) {
        p = granted(malloc(n));
        if (p != nullptr) {
            fill(n, v);
        }
        return p != nullptr;
    }
    bool get_clean(std::size_t n, unsigned char v) {
        p = granted(calloc(1, n));
        if (p != nullptr) {
            size = n;
            check(n, 0);
            fill(n, v);
        }
        return p != nullptr;
    }
    /// A refusal leaves the block as it was.
    bool resize(std::size_t n) {
        unsigned char *const to = granted(realloc(p, n));
        if (to == nullptr) {
            check(size, value);
            return false;
        }
        p = to;
        check(n, value);
        fill(n, value);
        return true;
    }
    void put() {
        if (p != nullptr) {
            check(size, value);
            errno = EILSEQ;
            free(p);
            CHECK(errno == EILSEQ);
        }
        p = nullptr;
    }
};

/// A thread, or where none is to be had, the same work here.
class Thread {
public:
    Thread(void (*work)(unsigned), unsigned i) : work_(work), i_(i) {
        constexpr auto run = [](void *self) -> void * {
            static_cast<Thread *>(self)->work_(static_cast<Thread *>(self)->i_);
            return nullptr;
        };
        started_ = pthread_create(&id_, nullptr, run, this) == 0;
        if (!started_) {
            work(i);
        }
    }
    ~Thread() {
        if (started_) {
            CHECK(pthread_join(id_, nullptr) == 0);
        }
    }
    Thread(const Thread &) = delete;
    Thread &operator=(const Thread &) = delete;

private:
    void (*work_)(unsigned);
    unsigned i_;
    pthread_t id_{};
    bool started_ = false;
};

inline void small_and_medium(unsigned seed) {
    constexpr unsigned count = 700;
    Block blocks[count];
    Random random(seed);
    for (unsigned n = 0; n < 3 * count; ++n) {
        Block &block = blocks[random.below(count)];
        block.put();
        const std::size_t size = 1 + random.below(random.below(20) == 0 ? 60 * KiB : 400);
        (n % 3 == 0 ? block.get_clean(size, static_cast<unsigned char>(n))
                    : block.get(size, static_cast<unsigned char>(n)));
    }
    for (Block &block : blocks) {
        block.put();
    }
}

/// Large blocks (page runs), huge ones (mappings), what grows from one into the other and back, what is aligned.
inline void large_and_huge() {
    Block blocks[8];
    for (int round = 0; round < 2; ++round) {
        std::size_t size = 70 * KiB;
        for (Block &block : blocks) {
            block.get_clean(size, 7);
            size += size / 2;
        }
        for (Block &block : blocks) {
            block.put();
        }
        malloc_trim(0);
    }
    Block huge[3];
    for (Block &block : huge) {
        block.get_clean(17 * MiB, 9);
    }
    if (huge[0].p != nullptr) {
        huge[0].resize(18 * MiB);
        huge[0].resize(21 * MiB);
        huge[0].resize(17 * MiB);
        huge[0].resize(100);
    }
    for (Block &block : huge) {
        block.put();
    }
    Block grown;
    if (grown.get(16, 11)) {
        for (std::size_t size = 64; size <= 20 * MiB; size *= 3) {
            grown.resize(size);
        }
        grown.put();
    }
    for (const std::size_t alignment : {std::size_t{64}, 4 * KiB, 256 * KiB, 64 * MiB}) {
        Block block;
        block.p = granted(aligned_alloc(alignment, 3 * alignment / 2));
        CHECK(reinterpret_cast<std::uintptr_t>(block.p) % alignment == 0);
        if (block.p != nullptr) {
            block.fill(100, 13);
            block.put();
        }
    }
    malloc_trim(0);
}

inline Block passed_on[3][3000];

inline void allocate_for_others(unsigned i) {
    for (Block &block : passed_on[i]) {
        block.get(1 + static_cast<std::size_t>(&block - passed_on[i]) % 300, static_cast<unsigned char>(i));
    }
}

inline void free_of_others(unsigned i) {
    for (Block &block : passed_on[(i + 1) % 3]) {
        block.put();
    }
    small_and_medium(i);
}

/// Twice the threads that pass blocks on: the frees of the second are remote while their owners sleep, or have ended.
inline void threads() {
    for (int round = 0; round < 2; ++round) {
        {
            Thread a(allocate_for_others, 0);
            Thread b(allocate_for_others, 1);
            allocate_for_others(2);
        }
        Thread a(free_of_others, 0);
        Thread b(free_of_others, 1);
        free_of_others(2);
    }
}

inline std::atomic<bool> release{false};

inline pthread_t main_thread;

/// Holds its heap, asleep, until the others have freed what it allocated; where no thread is to be had, there are no
/// others.
inline void sleeping_owner(unsigned i) {
    allocate_for_others(i);
    release = true;
    while (release && pthread_equal(pthread_self(), main_thread) == 0) {
        sleep_seconds(0.0002);
    }
}

inline void frees_into_a_sleepers_heap() {
    release = false;
    main_thread = pthread_self();
    Thread owner(sleeping_owner, 0);
    while (!release) {
        sleep_seconds(0.0002);
    }
    for (Block &block : passed_on[0]) {
        block.put();
    }
    release = false;
}

inline void fork_among_threads() {
    Block before[100];
    for (Block &block : before) {
        block.get(500, 17);
    }
    Thread other(small_and_medium, 5);
    const pid_t child = fork();
    if (child == 0) {
        alarm(hang_limit);
        for (Block &block : before) {
            block.put();
        }
        small_and_medium(6);
        _exit(0);
    }
    if (child > 0) {
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    for (Block &block : before) {
        block.put();
    }
}

inline void work() {
    small_and_medium(1);
    large_and_huge();
    threads();
    frees_into_a_sleepers_heap();
    fork_among_threads();
    malloc_trim(0);
    small_and_medium(2);
}

} // namespace process_test::faults
