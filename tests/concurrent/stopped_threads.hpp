// SPDX-License-Identifier: MIT
//
// Threads that stop where they are, in a heap without locks, while others go on: SIGSTOP stops a process and never a
// thread, so a thread is stopped by a signal of its own, whose handler waits in a read of a pipe.
#pragma once

#include "threads_suite.hpp"

#include <cairn/platform/fatal.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>

#include <csignal>
#include <pthread.h>
#include <unistd.h>

namespace cairn::concurrent {

inline std::atomic<int> stopped{0};
inline int gate[2]; ///< a pipe

inline void stop_here(int) {
    const int error = errno;
    stopped.fetch_add(1);
    char token = 0;
    while (read(gate[0], &token, 1) != 1) {
    }
    stopped.fetch_sub(1);
    errno = error;
}

/// Threads exchange blocks through it without waiting for one another.
inline std::array<std::atomic<std::uint32_t *>, 64> mailbox;

/// Largest: the largest small block.
template <class H, std::size_t Largest>
class Worker {
public:
    explicit Worker(unsigned seed) : random_(seed), own_(24) {}

    void step() {
        std::uint32_t *&block = own_[random_() % own_.size()];
        check_and_free(block);
        // Two to eight blocks a superblock, so that superblocks move all the time; small ones, and mappings, now and
        // then.
        const unsigned kind = random_() % 128;
        block = make((kind == 0 ? 4 * Largest : kind < 16 ? 512 : Largest >> random_() % 3) - random_() % 8);
        if (random_() % 4 == 0) {
            block = mailbox[random_() % mailbox.size()].exchange(block);
        }
    }

    void free_all() {
        for (std::uint32_t *&block : own_) {
            check_and_free(block);
        }
    }

    static void check_and_free(std::uint32_t *&block) {
        if (block != nullptr) {
            const std::uint32_t words = block[0];
            if (block[words - 1] != words || block[words / 2] != words) {
                platform::fatal({"contents of ", block, " are damaged"});
            }
            heap().free(block);
            block = nullptr;
        }
    }

    static H &heap() { return immortal<H>.object; }

private:
    static std::uint32_t *make(std::size_t size) {
        auto *const block = static_cast<std::uint32_t *>(heap().malloc(size));
        if (block == nullptr) {
            platform::fatal({"no memory"});
        }
        const auto words = static_cast<std::uint32_t>(size / sizeof *block);
        block[0] = block[words / 2] = block[words - 1] = words;
        return block;
    }

    std::minstd_rand random_;
    std::vector<std::uint32_t *> own_;
};

/// While all victims stand still, wherever that is, two others do a fixed number of operations.
template <class H, std::size_t Largest>
void others_go_on(unsigned rounds) {
    constexpr int victims = 3;
    constexpr int operations = 300;
    ASSERT_EQ(pipe(gate), 0);
    struct sigaction action{};
    action.sa_handler = stop_here;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);

    // A victim may stop wherever the heap is, yet not where its vector comes from: that one has locks. So all are at
    // work before the first is stopped.
    std::atomic<int> at_work{0};
    std::atomic<bool> end{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < victims; ++t) {
        threads.emplace_back([&, t] {
            Worker<H, Largest> worker(t);
            at_work.fetch_add(1);
            while (!end.load()) {
                worker.step();
            }
            worker.free_all();
        });
    }
    while (at_work.load() != victims) {
        std::this_thread::yield();
    }
    std::minstd_rand random(1);
    for (unsigned round = 0; round < rounds; ++round) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        for (std::thread &thread : threads) {
            ASSERT_EQ(pthread_kill(thread.native_handle(), SIGUSR1), 0);
        }
        while (stopped.load() != victims) {
            std::this_thread::yield();
        }

        std::mutex mutex;
        std::condition_variable change;
        int done = 0;
        std::vector<std::thread> others;
        for (unsigned t = 0; t < 2; ++t) {
            others.emplace_back([&, t] {
                Worker<H, Largest> worker(100 + 2 * round + t);
                for (int i = 0; i < operations; ++i) {
                    worker.step();
                }
                worker.free_all();
                const std::lock_guard hold(mutex);
                ++done;
                change.notify_one();
            });
        }
        std::unique_lock hold(mutex);
        if (!change.wait_for(hold, std::chrono::seconds(120), [&] { return done == 2; })) {
            platform::fatal({"stopped threads keep others from going on, round ", std::uint64_t{round}});
        }
        hold.unlock();
        for (std::thread &other : others) {
            other.join();
        }
        ASSERT_EQ(stopped.load(), victims) << "nobody was released in between";
        const char tokens[victims] = {};
        ASSERT_EQ(write(gate[1], tokens, victims), victims);
        while (stopped.load() != 0) {
            std::this_thread::yield();
        }
    }
    end.store(true);
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (auto &slot : mailbox) {
        std::uint32_t *last = slot.exchange(nullptr);
        Worker<H, Largest>::check_and_free(last);
    }
    close(gate[0]);
    close(gate[1]);
}

} // namespace cairn::concurrent
