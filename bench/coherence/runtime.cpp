// SPDX-License-Identifier: MIT
//
// The baton, and what the accesses of a program do that was compiled with -fsanitize=thread.
#include "runtime.hpp"

#include "../common/random.hpp"

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn::coherence {
namespace {

constexpr unsigned nobody = ~0u;

/// Who runs. The mutex and the conditions are not instrumented, and so not seen by the model.
class Baton {
public:
    Baton(const Schedule &schedule)
        : schedule_(schedule), random_(schedule.seed), threads_(schedule.threads) {
        for (Thread &thread : threads_) {
            thread.awake = std::make_unique<std::condition_variable>();
        }
    }

    /// When all threads are there: making one maps memory, and addresses have to be the same in every run.
    void start() {
        const std::scoped_lock hold(mutex_);
        holder_ = 0;
        threads_[0].awake->notify_one();
    }

    void wait_for_it(unsigned me) {
        std::unique_lock hold(mutex_);
        threads_[me].awake->wait(hold, [&] { return holder_ == me; });
    }

    void pass(unsigned me) { give(me, next_after(me)); }

    /// In the midst of an allocator, if the seed says so.
    void perhaps_pass(unsigned me) {
        if (schedule_.seed != 0 && random_.below(schedule_.every) == 0) {
            give(me, next_after(static_cast<unsigned>(random_.below(threads_.size()))));
        }
    }

    void end(unsigned me) {
        threads_[me].ended = true;
        const unsigned next = next_after(me);
        const std::scoped_lock hold(mutex_);
        holder_ = next;
        if (next != nobody) {
            threads_[next].awake->notify_one();
        }
    }

    unsigned processors() const { return schedule_.threads; }

    void meet(unsigned me) {
        const unsigned round = round_;
        if (++waiting_ == threads_.size()) {
            waiting_ = 0;
            ++round_;
        }
        while (round_ == round) {
            pass(me);
        }
    }

private:
    struct Thread {
        std::unique_ptr<std::condition_variable> awake;
        bool ended = false;
    };

    unsigned next_after(unsigned who) const {
        for (std::size_t i = 1; i <= threads_.size(); ++i) {
            const auto next = static_cast<unsigned>((who + i) % threads_.size());
            if (!threads_[next].ended) {
                return next;
            }
        }
        return nobody;
    }

    void give(unsigned me, unsigned next) {
        if (next == me) {
            return;
        }
        std::unique_lock hold(mutex_);
        holder_ = next;
        threads_[next].awake->notify_one();
        threads_[me].awake->wait(hold, [&] { return holder_ == me; });
    }

    Schedule schedule_;
    bench::Random random_;
    std::mutex mutex_;
    unsigned holder_ = nobody;
    std::vector<Thread> threads_; ///< but for `awake`, the holder's alone
    std::size_t waiting_ = 0;
    unsigned round_ = 0;
};

Caches caches;
Traffic by_allocator;
Traffic by_program;
std::uint64_t accesses = 0;
bool places_wanted = false;
std::unordered_map<const void *, Traffic> by_place;
Baton *baton = nullptr;
thread_local unsigned me = nobody;

void count_access(const void *place, const volatile void *p, std::size_t size, bool write, bool rmw) {
    Traffic now;
    now.rmws = rmw ? 1 : 0;
    caches.access(me, reinterpret_cast<std::uintptr_t>(p), size, write, now);
    by_allocator += now;
    ++accesses;
    if (places_wanted && (now.transfers() != 0 || rmw)) {
        by_place[place] += now;
    }
}

} // namespace

void touch(const void *place, const volatile void *p, std::size_t size, bool write) {
    if (me != nobody) {
        count_access(place, p, size, write, false);
    }
}

void touch_atomically(const void *place, const volatile void *p, std::size_t size, bool write, bool rmw) {
    if (me != nobody) {
        baton->perhaps_pass(me);
        count_access(place, p, size, write, rmw);
    }
}

void run(const Schedule &schedule, const std::function<void(unsigned)> &body) {
    Baton the_baton(schedule);
    baton = &the_baton;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < schedule.threads; ++i) {
        threads.emplace_back([i, &body] {
            baton->wait_for_it(i);
            me = i;
            body(i);
            me = nobody;
            baton->end(i);
        });
    }
    the_baton.start();
    for (std::thread &thread : threads) {
        thread.join();
    }
    baton = nullptr;
}

void turn() {
    baton->pass(me);
}
void meet() {
    baton->meet(me);
}
void program_writes(void *p, std::size_t size) {
    caches.access(me, reinterpret_cast<std::uintptr_t>(p), size, true, by_program);
}
void program_reads(const void *p, std::size_t size) {
    caches.access(me, reinterpret_cast<std::uintptr_t>(p), size, false, by_program);
}
Traffic allocator_traffic() {
    return by_allocator;
}
Traffic program_traffic() {
    return by_program;
}
void want_places() {
    places_wanted = true;
}
const std::unordered_map<const void *, Traffic> &allocator_places() {
    return by_place;
}
unsigned this_thread() {
    return me == nobody ? 0 : me;
}
std::uint64_t nanoseconds() {
    return accesses / (baton != nullptr ? baton->processors() : 1);
}

} // namespace cairn::coherence

namespace {

/// What the instrumented code does. The baton makes every order of an atomic operation a total one, so the strongest is
/// right, whatever was asked for.
struct Accesses {
    static void plain(const void *place, const volatile void *p, std::size_t size, bool write) {
        cairn::coherence::touch(place, p, size, write);
    }
    static void fence(const void *, int) {}

    template <class T>
    static T load(const void *place, const volatile T *p, int) {
        cairn::coherence::touch_atomically(place, p, sizeof(T), false, false);
        return *p; // one thread runs
    }
    template <class T>
    static void store(const void *place, volatile T *p, T value, int) {
        cairn::coherence::touch_atomically(place, p, sizeof(T), true, false);
        *p = value;
    }
    template <class T, class F>
    static T update(const void *place, volatile T *p, int, F f) {
        cairn::coherence::touch_atomically(place, p, sizeof(T), true, true);
        const T old = *p;
        *p = f(old);
        return old;
    }
    /// One that fails reads the line, but the processor has taken it for writing all the same.
    template <class T>
    static bool exchange_if(const void *place, volatile T *p, T *expected, T desired, int order, int) {
        const T wanted = *expected;
        *expected = update(place, p, order, [=](T old) { return old == wanted ? desired : old; });
        return *expected == wanted;
    }
};

} // namespace

#include "runtime_calls.hpp"

extern "C" {

void cairn_simulated_wait() {
    if (cairn::coherence::me != cairn::coherence::nobody) {
        cairn::coherence::baton->pass(cairn::coherence::me);
    }
}

/// A processor for each thread, however many the machine has.
unsigned cairn_simulated_processors() {
    if (cairn::coherence::baton != nullptr) {
        return cairn::coherence::baton->processors();
    }
    const char *const number = std::getenv(cairn::coherence::processors_variable);
    return number != nullptr ? static_cast<unsigned>(std::atoi(number)) : 1;
}

} // extern "C"
