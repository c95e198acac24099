// SPDX-License-Identifier: MIT
//
// The engine of the model checker: the threads of a kernel, which are fibres of one thread, and who of them takes the
// next step. Between two steps a thread runs through; at a step it announces what it is about to do, and the explorer
// chooses.
#pragma once

#include "explorer.hpp"
#include "late.hpp"
#include "memory.hpp"
#include "shadow.hpp"

#include <csetjmp>
#include <set>
#include <string>
#include <vector>

#include <ucontext.h>

namespace cairn::model {

constexpr unsigned outside = ~0u; ///< no thread of the model runs

/// The thread-local data of the program proper, of which fibres need one each.
struct Locals {
    char *begin = nullptr;
    std::size_t size = 0;
    std::vector<char> pristine;
};
extern Locals locals;
void find_locals();

/// A plain read of what may be an old value: memory has it until the thread that reads does anything else.
struct Shown {
    void *at = nullptr;
    std::size_t size = 0;
    char newest[16] = {};

    void show(void *p, const void *old, std::size_t bytes) {
        at = p;
        size = bytes;
        std::memcpy(newest, p, bytes);
        std::memcpy(p, old, bytes);
    }
    void end() {
        if (at != nullptr) {
            std::memcpy(at, newest, size);
            at = nullptr;
        }
    }
};

struct Fibre {
    std::vector<char> stack;
    std::vector<char> locals;
    std::vector<char> locals_at_start;
    jmp_buf at;
    bool begun = false;
    bool ended = false;
    bool announced = false;
    Step step;
    // What it looked at last, for who waits for a change of it.
    std::uintptr_t looked_at = 0;
    Time looked_time = 0;
    unsigned looked_size = 0;
    std::uintptr_t spins_out = 0;
    Value spun_on = 0;
    std::uintptr_t asleep_on = 0; ///< a futex
    bool woken = false;
    unsigned fences = 0;
    // What it has done in a row of which nothing has come, while nobody else has changed anything either.
    unsigned in_vain = 0;
    std::uint32_t changes = 0;
};

/// Everything there is while a kernel is looked at.
struct Engine {
    Memory memory;
    Shadow shadow;
    Late late;
    Fibre fibres[most_threads];
    Explorer *explorer = nullptr;
    const AnyKernel *kernel = nullptr;
    void *object = nullptr;
    unsigned current = outside;
    unsigned acting = 0; ///< where no thread runs: whose data there is
    unsigned steps = 0;
    unsigned in_a_row = 0;      ///< of one thread, the last ones
    unsigned awaited = outside; ///< the fibre that is started, until its first step
    bool failed = false;
    bool cut = false;
    bool over = false;
    bool finishing = false; ///< the kernel's finish() runs
    bool telling = false;
    Shown shown;
    bool alone = false; ///< after a fork: one thread, which sees everything
    std::string why;
    std::string said;
    long huge_page = 0; ///< the last one that was asked for
    std::set<std::string> outcomes;
    std::vector<std::pair<std::uintptr_t, const char *>> names;
    jmp_buf scheduler;
    ucontext_t context;
    volatile std::uint64_t executions = 0;
};
extern Engine *engine;
inline Engine &e() {
    return *engine;
}
/// No other thread is to be thought of.
inline bool apart() {
    return engine == nullptr || engine->current == outside || engine->alone;
}

/// One execution of the kernel, from the scheduler's stack.
void execute();
/// The current thread announces its step, and comes back when it is to take it.
void announce(const Step &step);
/// It has taken it: it made one message, read another one (0: none), which may be an old one.
void taken(std::uint32_t made, std::uint32_t read, bool old = false);
/// The current fibre is left for ever, in this execution; `end_execution`: and so are all others.
void leave_fibre();
[[noreturn]] void end_execution();

/// `thread` passes a fence, or looks at the place: the end of an execution with a late read that this rules out.
void late_meets_fence(unsigned thread, bool full);
void late_meets(std::uintptr_t where, bool all_order);

/// The story of an execution that is replayed.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string name_of(std::uintptr_t address);
/// Where in the program `code` is, as addr2line wants it.
std::string place(const void *code);

} // namespace cairn::model
