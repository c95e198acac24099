// SPDX-License-Identifier: MIT
//
// Player: makes the calls of a plan in their order, each from its own thread.
//
// One thread at a time has the baton; it makes calls until the plan says that it is another one's turn. A thread is
// started when its first call comes and ends after its last one, and its end is waited for.
#pragma once

#include <src/replay/memory.hpp>
#include <src/replay/plan.hpp>

#include <atomic>
#include <cstdint>

#include <pthread.h>

namespace cairn::replay {

class Player {
public:
    /// `file`: an open plan. `touch`: write to each page of a block. Ends the program if it can not go on.
    Player(int file, bool touch, Outcome &outcome) noexcept;

    /// All calls; then frees what is left, and looks again a second later.
    void play() noexcept;

private:
    struct Block {
        char *address;
        std::uint64_t size;
        std::uint64_t usable;
    };
    enum Word : std::uint32_t { away, asleep, on };
    struct Thread {
        std::atomic<std::uint32_t> baton; ///< a Word
        std::uint32_t stack;
        bool started;
        pthread_t handle;
        std::uint64_t turns; ///< that are still to come
        Player *player;
    };
    static constexpr std::uint32_t nobody = UINT32_MAX;
    static constexpr std::size_t stack_bytes = 512 * 1024;
    static constexpr std::size_t touched_stack_bytes = 32 * 1024;
    static constexpr std::size_t window = 65536; ///< steps

    static void *run(void *thread);
    void take_turns(std::uint32_t self) noexcept;
    void start(std::uint32_t number) noexcept;
    void pass_to(std::uint32_t number) noexcept;
    void wait_for_baton(std::uint32_t self) noexcept;
    const Step *next() noexcept;
    void make(const Step &step) noexcept;
    void took(Block &block, const Step &step, void *made) noexcept;
    void check(const Block &block) noexcept;
    bool take_zeros(char *block, std::size_t size) noexcept;
    void forget(Block &block) noexcept;
    void sample(Sample &to) noexcept;
    void between_calls() noexcept;
    void measure_clock() noexcept;
    void finish() noexcept;
    [[noreturn]] void wrong(const char *what) noexcept;
    [[noreturn]] void can_not_go(const char *what) noexcept;
    template <class T>
    T *take_table(std::uint64_t count) noexcept;

    const int file_;
    const bool touch_;
    Outcome &outcome_;
    PlanHeader plan_{};
    Memory memory_;
    Block *blocks_ = nullptr;
    Thread *threads_ = nullptr;
    char *stacks_ = nullptr;
    std::uint32_t *free_stacks_ = nullptr;
    std::uint32_t free_stacks_count_ = 0;
    Step *steps_ = nullptr; ///< a window of the plan
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::uint64_t read_ = 0;       ///< steps
    std::uint32_t ended_ = nobody; ///< a thread that is to be joined
    std::size_t (*usable_size_)(void *) = nullptr;

    std::uint64_t made_ = 0; ///< calls
    std::uint64_t live_ = 0;
    std::uint64_t usable_ = 0;
    std::uint64_t next_sample_ = 0;
    std::uint64_t clock_cost_ = 0; ///< ticks
    std::uint64_t ticks_[calls] = {};
    std::uint64_t long_ticks_ = 0;
    std::uint64_t ticks_per_millisecond_ = 0;
    std::uint64_t turn_ticks_ = 0;
    std::uint64_t turn_began_ = 0;
};

} // namespace cairn::replay
