// SPDX-License-Identifier: MIT
//
// A peer as the subject: a shared object that bench/peers.py --coherence has built, preloaded. It finds its malloc and
// free by name. And what it asks of the C library is answered here where the answer would make a thread wait for one
// that has not the baton, or differ from run to run, or pass the model by: its calls of NAME were made calls of
// cairn_peer_NAME (bench/lib/instrumented.py has the list).
//
// Threads: one at a time (the baton), but before `run`, when there is one.
#include "runtime.hpp"
#include "subject.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern "C" void cairn_simulated_wait();
extern "C" unsigned cairn_simulated_processors();

#define CAIRN_PLACE __builtin_return_address(0)

namespace cairn::coherence {
namespace {

template <class F>
F *peers(const char *name) {
    void *const found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "coherence: no peer is preloaded: bench/peers.py --coherence builds them\n");
        std::exit(2);
    }
    return reinterpret_cast<F *>(found);
}

/// The C library's mutex, as far as lines go: a word that an atomic exchange takes and gives back, and beside it who
/// has it, which the holder writes. Who finds it taken sleeps, and tries again when it is free.
struct Mutex {
    int taken;
    int count;
    int owner;
    unsigned users;

    bool try_lock(const void *place) {
        touch_atomically(place, &taken, sizeof(taken), true, true);
        if (taken != 0) {
            return false;
        }
        taken = 1;
        touch(place, &owner, sizeof(owner) + sizeof(users), true);
        return true;
    }
    void lock(const void *place) {
        while (!try_lock(place)) {
            while (taken != 0) {
                cairn_simulated_wait();
            }
        }
    }
    void unlock(const void *place) {
        touch(place, &owner, sizeof(owner) + sizeof(users), true);
        touch_atomically(place, &taken, sizeof(taken), true, true);
        taken = 0;
    }
};
static_assert(sizeof(Mutex) <= sizeof(pthread_mutex_t));

Mutex &model(pthread_mutex_t *mutex) {
    return *reinterpret_cast<Mutex *>(mutex);
}

using Destructor = void (*)(void *);
constexpr unsigned most_keys = 64;
std::array<Destructor, most_keys> destructors{};
unsigned keys = 0;
thread_local std::array<void *, most_keys> values{};

struct AtExit {
    Destructor destroy;
    void *object;
};
thread_local std::vector<AtExit> at_exit;

/// As the C library does at the end of a thread, but with the baton in hand.
void run_destructors() {
    while (!at_exit.empty()) {
        const AtExit last = at_exit.back();
        at_exit.pop_back();
        last.destroy(last.object);
    }
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
        for (unsigned key = 0; key < keys; ++key) {
            void *const value = std::exchange(values[key], nullptr);
            if (value != nullptr && destructors[key] != nullptr) {
                destructors[key](value);
            }
        }
    }
}

/// Nothing depends on how good they are, and everything on their being the same.
std::size_t random_bytes(void *to, std::size_t size) {
    static std::uint64_t state = 1;
    auto *const bytes = static_cast<unsigned char *>(to);
    for (std::size_t i = 0; i < size; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = static_cast<unsigned char>(state >> 56);
    }
    return size;
}

} // namespace

void *subject_malloc(std::size_t size) {
    static auto *const function = peers<void *(std::size_t)>("cairn_peer_malloc");
    return function(size);
}
void subject_free(void *p) {
    static auto *const function = peers<void(void *)>("cairn_peer_free");
    function(p);
}
void subject_thread_ends() {
    run_destructors();
}
/// The name of the file.
const char *subject_name() {
    static const std::string name = [] {
        Dl_info module{};
        dladdr(reinterpret_cast<void *>(peers<void *(std::size_t)>("cairn_peer_malloc")), &module);
        const std::string path = module.dli_fname;
        const std::size_t start = path.rfind('/') + 1;
        return path.substr(start, path.rfind('.') - start);
    }();
    return name.c_str();
}

} // namespace cairn::coherence

using namespace cairn::coherence;

extern "C" {

int cairn_peer_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *) {
    std::memset(mutex, 0, sizeof(*mutex));
    return 0;
}
int cairn_peer_pthread_mutex_destroy(pthread_mutex_t *) {
    return 0;
}
int cairn_peer_pthread_mutex_lock(pthread_mutex_t *mutex) {
    model(mutex).lock(CAIRN_PLACE);
    return 0;
}
int cairn_peer_pthread_mutex_trylock(pthread_mutex_t *mutex) {
    return model(mutex).try_lock(CAIRN_PLACE) ? 0 : EBUSY;
}
int cairn_peer_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    model(mutex).unlock(CAIRN_PLACE);
    return 0;
}

/// 0: not yet, 1: now, 2: done.
int cairn_peer_pthread_once(pthread_once_t *once, void (*routine)()) {
    touch_atomically(CAIRN_PLACE, once, sizeof(*once), false, false);
    while (*once == 1) {
        cairn_simulated_wait();
    }
    if (*once == 0) {
        touch_atomically(CAIRN_PLACE, once, sizeof(*once), true, true);
        *once = 1;
        routine();
        *once = 2;
        touch_atomically(CAIRN_PLACE, once, sizeof(*once), true, false);
    }
    return 0;
}

/// A static variable's guard: the first byte says that it is there (the compiler's code looks at that), the second that
/// somebody makes it.
int cairn_peer_cxa_guard_acquire(unsigned char *guard) {
    while (guard[1] != 0) {
        cairn_simulated_wait();
    }
    touch_atomically(CAIRN_PLACE, guard, 2, true, true);
    if (guard[0] != 0) {
        return 0;
    }
    guard[1] = 1;
    return 1;
}
void cairn_peer_cxa_guard_release(unsigned char *guard) {
    touch_atomically(CAIRN_PLACE, guard, 2, true, false);
    guard[0] = 1;
    guard[1] = 0;
}

int cairn_peer_pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) {
    if (keys == most_keys) {
        return EAGAIN;
    }
    destructors[keys] = destroy;
    *key = keys++;
    return 0;
}
int cairn_peer_pthread_key_delete(pthread_key_t key) {
    destructors[key] = nullptr;
    return 0;
}
int cairn_peer_pthread_setspecific(pthread_key_t key, const void *value) {
    values[key] = const_cast<void *>(value);
    return 0;
}
void *cairn_peer_pthread_getspecific(pthread_key_t key) {
    return values[key];
}
int cairn_peer_cxa_thread_atexit(void (*destroy)(void *), void *object, void *) {
    at_exit.push_back({destroy, object});
    return 0;
}
int cairn_peer_cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *) {
    at_exit.push_back({destroy, object});
    return 0;
}
/// No thread of its own: what such a thread does is not done for a call.
int cairn_peer_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) {
    return EAGAIN;
}

int cairn_peer_sched_yield() {
    cairn_simulated_wait();
    return 0;
}
int cairn_peer_nanosleep(const timespec *, timespec *) {
    cairn_simulated_wait();
    return 0;
}
unsigned cairn_peer_sleep(unsigned) {
    cairn_simulated_wait();
    return 0;
}
int cairn_peer_usleep(useconds_t) {
    cairn_simulated_wait();
    return 0;
}

int cairn_peer_sched_getcpu() {
    return static_cast<int>(this_thread());
}
long cairn_peer_sysconf(int name) {
    return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? cairn_simulated_processors()
                                                                        : sysconf(name);
}
int cairn_peer_sched_getaffinity(pid_t, std::size_t size, cpu_set_t *set) {
    CPU_ZERO_S(size, set);
    for (unsigned i = 0; i < cairn_simulated_processors(); ++i) {
        CPU_SET_S(i, size, set);
    }
    return 0;
}

int cairn_peer_clock_gettime(clockid_t, timespec *now) {
    now->tv_sec = static_cast<time_t>(1 + nanoseconds() / 1000000000);
    now->tv_nsec = static_cast<long>(nanoseconds() % 1000000000);
    return 0;
}
int cairn_peer_gettimeofday(timeval *now, void *) {
    now->tv_sec = static_cast<time_t>(1 + nanoseconds() / 1000000000);
    now->tv_usec = static_cast<suseconds_t>(nanoseconds() / 1000 % 1000000);
    return 0;
}

ssize_t cairn_peer_getrandom(void *to, std::size_t size, unsigned) {
    return static_cast<ssize_t>(random_bytes(to, size));
}
int cairn_peer_getentropy(void *to, std::size_t size) {
    random_bytes(to, size);
    return 0;
}

/// The calls of the kernel that are made without the C library's function for them.
long cairn_peer_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    std::array<long, 6> a{};
    for (long &argument : a) {
        argument = va_arg(list, long);
    }
    va_end(list);
    switch (number) {
    case SYS_futex:
        if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
            cairn_simulated_wait();
        }
        return 0;
    case SYS_getrandom:
        return static_cast<long>(
            random_bytes(reinterpret_cast<void *>(a[0]), static_cast<std::size_t>(a[1])));
    case SYS_getcpu:
        *reinterpret_cast<unsigned *>(a[0]) = this_thread();
        return 0;
    default:
        return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

} // extern "C"
