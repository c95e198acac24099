// SPDX-License-Identifier: MIT
//
// Sharing: a shadow of the heap's cache lines that knows which threads the live blocks of each line were
// handed to. One word a line, found by two steps from the address, without a lock.
#pragma once

#include "process_test.hpp"

#include <sys/mman.h>

#include <atomic>

namespace process_test::sharing {

/// As the promise means it: what two processors can own separately.
constexpr std::size_t line_size = 64;

/// How often a block was handed out in a line that had a live block of another thread.
inline std::atomic<std::size_t> shared_lines{0};
/// How many blocks were handed out at all.
inline std::atomic<std::size_t> handed_out{0};

/// Of a line: its live blocks, whether one of them was passed on, and above that the thread that the last one
/// was handed to.
using Word = std::atomic<std::uint32_t>;
constexpr std::uint32_t count_mask = 0x7fff;
constexpr std::uint32_t passed_on = 0x8000;
constexpr unsigned thread_shift = 16;

/// The words of 32 MiB of addresses.
constexpr std::size_t window = 32 * MiB;
inline std::atomic<Word *> windows[(std::size_t{1} << 48) / window];

inline Word &word_of(std::uintptr_t line) {
    std::atomic<Word *> &entry = windows[line * line_size / window];
    Word *words = entry.load(std::memory_order_acquire);
    if (words == nullptr) {
        constexpr std::size_t bytes = window / line_size * sizeof(Word);
        void *const fresh =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(fresh != MAP_FAILED);
        if (entry.compare_exchange_strong(words, static_cast<Word *>(fresh))) {
            words = static_cast<Word *>(fresh);
        } else {
            munmap(fresh, bytes);
        }
    }
    return words[line % (window / line_size)];
}

template <class F>
void each_line(const void *p, std::size_t size, F f) {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    for (std::uintptr_t line = at / line_size; line <= (at + size - 1) / line_size; ++line) {
        f(word_of(line));
    }
}

/// malloc(size), written to, by `thread`.
inline void *take(std::size_t size, unsigned thread) {
    void *const p = malloc(size);
    CHECK(p != nullptr);
    std::memset(p, static_cast<int>(thread), size);
    each_line(p, size, [&](Word &word) {
        std::uint32_t now = word.load(std::memory_order_relaxed);
        std::uint32_t next = 0;
        bool other = false;
        do {
            const bool empty = (now & count_mask) == 0;
            other = !empty && (now & passed_on) == 0 && now >> thread_shift != thread;
            next = empty ? (thread << thread_shift | 1) : now + 1;
        } while (!word.compare_exchange_weak(now, next));
        if (other) {
            shared_lines.fetch_add(1, std::memory_order_relaxed);
        }
    });
    handed_out.fetch_add(1, std::memory_order_relaxed);
    return p;
}

/// The block goes to another thread: what shares its lines while they are in use is the program's own doing.
inline void pass_on(const void *p, std::size_t size) {
    each_line(p, size, [](Word &word) { word.fetch_or(passed_on); });
}

/// free(p) by any thread.
inline void give_back(void *p, std::size_t size) {
    each_line(p, size, [](Word &word) { word.fetch_sub(1); });
    free(p);
}

/// The end of a test in which no line may have been shared.
inline void expect_none() {
    dprintf(1, "%zu blocks handed out, %zu into another thread's line\n", handed_out.load(),
            shared_lines.load());
    CHECK(handed_out.load() > 100000);
    CHECK(shared_lines.load() == 0);
}

} // namespace process_test::sharing
