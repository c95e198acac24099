// SPDX-License-Identifier: MIT
//
// The baton, and what -fsanitize=thread makes of a program's accesses: functions whose names begin with __tsan_.
#include "runtime.hpp"

#include "../common/random.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
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

namespace {

/// An atomic operation as the code asked for it. The baton makes every order a total one, so the strongest is right.
template <class T>
struct Word {
    static T load(const void *place, const volatile T *p) {
        touch_atomically(place, p, sizeof(T), false, false);
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);
    }
    static void store(const void *place, volatile T *p, T value) {
        touch_atomically(place, p, sizeof(T), true, false);
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);
    }
    template <class F>
    static T update(const void *place, volatile T *p, F f) {
        touch_atomically(place, p, sizeof(T), true, true);
        const T old = *p; // one thread runs
        *p = f(old);
        return old;
    }
    /// One that fails reads the line, but the processor has taken it for writing all the same.
    static T compare_exchange(const void *place, volatile T *p, T expected, T desired) {
        return update(place, p, [&](T old) { return old == expected ? desired : old; });
    }
    static int compare_exchange(const void *place, volatile T *p, T *expected, T desired) {
        const T old = compare_exchange(place, p, *expected, desired);
        const bool done = old == *expected;
        *expected = old;
        return done;
    }
};

} // namespace
} // namespace cairn::coherence

using cairn::coherence::touch;
using cairn::coherence::Word;

/// Where the instrumented code is that called.
#define CAIRN_PLACE __builtin_return_address(0)

// The names and types are those that the compiler calls: LLVM's ThreadSanitizer instrumentation.
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

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

#define CAIRN_ACCESS(bytes)                                                                                  \
    void __tsan_read##bytes(void *p) {                                                                       \
        touch(CAIRN_PLACE, p, bytes, false);                                                                 \
    }                                                                                                        \
    void __tsan_write##bytes(void *p) {                                                                      \
        touch(CAIRN_PLACE, p, bytes, true);                                                                  \
    }                                                                                                        \
    void __tsan_unaligned_read##bytes(void *p) {                                                             \
        touch(CAIRN_PLACE, p, bytes, false);                                                                 \
    }                                                                                                        \
    void __tsan_unaligned_write##bytes(void *p) {                                                            \
        touch(CAIRN_PLACE, p, bytes, true);                                                                  \
    }                                                                                                        \
    void __tsan_read_write##bytes(void *p) {                                                                 \
        touch(CAIRN_PLACE, p, bytes, true);                                                                  \
    }                                                                                                        \
    void __tsan_unaligned_read_write##bytes(void *p) {                                                       \
        touch(CAIRN_PLACE, p, bytes, true);                                                                  \
    }
CAIRN_ACCESS(1)
CAIRN_ACCESS(2)
CAIRN_ACCESS(4)
CAIRN_ACCESS(8)
CAIRN_ACCESS(16)
#undef CAIRN_ACCESS

void __tsan_read_range(void *p, unsigned long size) {
    touch(CAIRN_PLACE, p, size, false);
}
void __tsan_write_range(void *p, unsigned long size) {
    touch(CAIRN_PLACE, p, size, true);
}
void __tsan_vptr_update(void **p, void *) {
    touch(CAIRN_PLACE, p, sizeof(void *), true);
}
void __tsan_vptr_read(void **p) {
    touch(CAIRN_PLACE, p, sizeof(void *), false);
}

void *__tsan_memcpy(void *to, const void *from, unsigned long size) {
    touch(CAIRN_PLACE, from, size, false);
    touch(CAIRN_PLACE, to, size, true);
    return std::memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, unsigned long size) {
    touch(CAIRN_PLACE, from, size, false);
    touch(CAIRN_PLACE, to, size, true);
    return std::memmove(to, from, size);
}
void *__tsan_memset(void *to, int byte, unsigned long size) {
    touch(CAIRN_PLACE, to, size, true);
    return std::memset(to, byte, size);
}

#define CAIRN_ATOMIC(bits, T)                                                                                \
    T __tsan_atomic##bits##_load(const volatile T *p, int) {                                                 \
        return Word<T>::load(CAIRN_PLACE, p);                                                                \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int) {                                              \
        Word<T>::store(CAIRN_PLACE, p, v);                                                                   \
    }                                                                                                        \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int) {                                              \
        return Word<T>::update(CAIRN_PLACE, p, [v](T) { return v; });                                        \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int) {                                             \
        return Word<T>::update(CAIRN_PLACE, p, [v](T old) { return static_cast<T>(old + v); });              \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int) {                                             \
        return Word<T>::update(CAIRN_PLACE, p, [v](T old) { return static_cast<T>(old - v); });              \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_and(volatile T *p, T v, int) {                                             \
        return Word<T>::update(CAIRN_PLACE, p, [v](T old) { return static_cast<T>(old & v); });              \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_or(volatile T *p, T v, int) {                                              \
        return Word<T>::update(CAIRN_PLACE, p, [v](T old) { return static_cast<T>(old | v); });              \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_xor(volatile T *p, T v, int) {                                             \
        return Word<T>::update(CAIRN_PLACE, p, [v](T old) { return static_cast<T>(old ^ v); });              \
    }                                                                                                        \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v, int, int) {                 \
        return Word<T>::compare_exchange(CAIRN_PLACE, p, expected, v);                                       \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T v, int, int) {           \
        return Word<T>::compare_exchange(CAIRN_PLACE, p, expected, v);                                       \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T v, int, int) {             \
        return Word<T>::compare_exchange(CAIRN_PLACE, p, expected, v);                                       \
    }
CAIRN_ATOMIC(8, unsigned char)
CAIRN_ATOMIC(16, unsigned short)
CAIRN_ATOMIC(32, unsigned int)
CAIRN_ATOMIC(64, unsigned long)
#undef CAIRN_ATOMIC

__extension__ using Wide = unsigned __int128;

Wide __tsan_atomic128_load(const volatile Wide *p, int) {
    cairn::coherence::touch_atomically(CAIRN_PLACE, p, sizeof(Wide), false, false);
    return *p;
}
void __tsan_atomic128_store(volatile Wide *p, Wide v, int) {
    cairn::coherence::touch_atomically(CAIRN_PLACE, p, sizeof(Wide), true, false);
    *p = v;
}
Wide __tsan_atomic128_exchange(volatile Wide *p, Wide v, int) {
    return Word<Wide>::update(CAIRN_PLACE, p, [v](Wide) { return v; });
}
int __tsan_atomic128_compare_exchange_strong(volatile Wide *p, Wide *expected, Wide v, int, int) {
    return Word<Wide>::compare_exchange(CAIRN_PLACE, p, expected, v);
}
int __tsan_atomic128_compare_exchange_weak(volatile Wide *p, Wide *expected, Wide v, int, int) {
    return Word<Wide>::compare_exchange(CAIRN_PLACE, p, expected, v);
}
Wide __tsan_atomic128_compare_exchange_val(volatile Wide *p, Wide expected, Wide v, int, int) {
    return Word<Wide>::compare_exchange(CAIRN_PLACE, p, expected, v);
}

} // extern "C"
