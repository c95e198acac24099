// SPDX-License-Identifier: MIT
//
// Model: what a kernel of the model checker is made of. A kernel is a small program of two to four threads over the
// production headers, of which every execution is looked at that the memory model allows (docs/model-checker.md).
//
//   struct MessagePassing {
//       std::atomic<int> flag{0};
//       int data = 0;
//       void thread(unsigned i) { ... }     // the threads, together
//       void finish() { ... }               // after them, alone
//   };
//   const model::Kernel<MessagePassing, 2> mp("litmus.mp", {.outcomes = "0 1"});
//
// An object is made once, before the first execution, and is back in that state at the start of each. So is static
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <string>

namespace cairn::model {

inline constexpr unsigned most_threads = 4;

enum class Explore : std::uint8_t {
    reduced, ///< every execution, but one only of those that differ in the order of independent steps
    all,     ///< every execution; to compare with
    bounded, ///< every execution with so many preemptions at most
    random   ///< a number of them, by chance
};

/// What executions came to, as finish() named it.
using Outcomes = std::set<std::string>;

/// For kernels whose outcomes somebody else knows: after each of them, and after the last one.
struct Comparison {
    /// `all`: no execution was left out. What is wrong, it says itself.
    bool (*is_right)(const void *program, const Outcomes &found, bool all);
    void (*sum_up)();
};

struct Options {
    Explore explore = Explore::reduced;
    unsigned preemptions = 2; ///< bounded
    std::uint64_t executions =
        50'000'000;                     ///< random: how many; else: when to stop, and say that there are more
    std::uint64_t short_executions = 0; ///< the same for a short run; 0: as `executions`
    unsigned steps = 8000;              ///< an execution that is longer has no end: a failure
    bool only_long = false;             ///< left out of a short run
    bool insert = false;                ///< stores may come before others in the order of modification
    bool late = false;                  ///< relaxed loads may read what is stored later (late.hpp)
    bool reuses = false;                ///< mmap gives again what was unmapped, and orders nothing by it
    bool races = true;                  ///< plain accesses that nothing orders are failures
    bool spins_out = false;             ///< who spins may have spun long enough at any look
    bool time_passes = false;           ///< who sleeps for some time wakes up again, whatever happens
    unsigned helpers = 0;               ///< so many of the last threads need not come to an end
    unsigned mute_fence = 0;            ///< which membarrier call of each thread does nothing; 0: none
    bool refuse_fence = false;          ///< membarrier answers that it can not
    const char *outcomes = nullptr;     ///< all that finish() must have named, separated by ", "
    const char *must_fail = nullptr;    ///< the checker is tested: a failure that says so has to be found
    bool compare = false;               ///< explore with and without reduction, and compare the outcomes
    const Comparison *comparison = nullptr; ///< says if the outcomes are right; no line of its own
};

/// For kernels that have more executions than anybody waits for: 400,000 of them, in a short run fewer.
constexpr Options capped(std::uint64_t short_executions) {
    return {.executions = 400'000, .short_executions = short_executions};
}

/// In a thread or in finish(): the execution is wrong.
[[noreturn]] void fail(const char *why);
inline void check(bool right, const char *what) {
    if (!right) {
        fail(what);
    }
}

/// In finish(): what this execution came to.
void outcome(const char *text);
void outcome_of(const int *numbers, unsigned count);

/// One of `count` ways on; all are explored.
unsigned choose(unsigned count);

/// What --seed says: for kernels that are made by chance.
std::uint64_t seed();

/// In a thread: from now on it is alone, as in the child of a fork; the others have stopped wherever they were.
void fork_alone();

/// In the constructor or in finish(): with the thread-local data of a thread. Those that it leaves in the constructor
/// are the thread's at the start of each execution.
void as_thread(unsigned i, void (*f)(void *), void *argument);
template <class F>
void as_thread(unsigned i, F f) {
    as_thread(i, [](void *p) { (*static_cast<F *>(p))(); }, &f);
}

/// In the constructor: what a location is called in the story of a failure; where plain accesses are not looked at for
/// races, but other threads may come between them.
void name(const volatile void *p, const char *what);
void racy(const void *p, std::size_t bytes);

struct AnyKernel {
    const char *title;
    unsigned threads;
    Options options;
    std::size_t size;
    void (*make)(void *at, const AnyKernel &self);
    void (*thread)(void *object, unsigned i);
    void (*finish)(void *object);
    const void *program; ///< for makers of many kernels
    AnyKernel *next;
};
void enter(AnyKernel &kernel);

template <class K, unsigned Threads>
class Kernel : public AnyKernel {
public:
    explicit Kernel(const char *name_of_it, const Options &how = {}, const void *what = nullptr)
        : AnyKernel{name_of_it, Threads, how, sizeof(K), make_it, thread_of, finish_it, what, nullptr} {
        static_assert(Threads >= 1 && Threads <= most_threads);
        enter(*this);
    }

private:
    static void make_it(void *at, const AnyKernel &self) {
        if constexpr (requires { K(static_cast<const void *>(nullptr)); }) {
            new (at) K(self.program);
        } else {
            new (at) K();
        }
    }
    static void thread_of(void *object, unsigned i) { static_cast<K *>(object)->thread(i); }
    static void finish_it(void *object) {
        if constexpr (requires(K &k) { k.finish(); }) {
            static_cast<K *>(object)->finish();
        }
    }
};

} // namespace cairn::model
