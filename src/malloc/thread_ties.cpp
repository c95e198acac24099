// SPDX-License-Identifier: MIT
#include "thread_ties.hpp"

#include <cerrno>
#include <new>
#include <pthread.h>
#include <utility>

namespace cairn::process_heap::thread_ties {

struct Tie {
    pthread_mutex_t life; ///< robust; held by the thread that has the heap
    Heap::Heap *heap;     ///< nullptr for a loose tie, which no thread has
    Tie *next;            ///< in the list of all ties
    Tie *next_loose;      ///< in the list of loose ties
};

namespace {

constexpr std::size_t chunk_bytes = 64_KiB;
constexpr std::size_t first_check_at = 32;

/// Guards the variables below. With it held no other lock is taken.
constinit sync::Lock lock{sync::Rank::leaf};
constinit Tie *all = nullptr;
constinit Tie *loose = nullptr;
constinit Tie *fresh = nullptr; ///< the unused rest of a chunk
constinit Tie *fresh_end = nullptr;
constinit std::size_t made = 0;
constinit std::size_t next_check_at = first_check_at; ///< number of ties made at which the next check is due

void set_loose(Tie *t) {
    t->heap = nullptr;
    t->next_loose = std::exchange(loose, t);
}

bool make_robust(pthread_mutex_t &mutex) {
    pthread_mutexattr_t attributes;
    return pthread_mutexattr_init(&attributes) == 0 &&
           pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
           pthread_mutex_init(&mutex, &attributes) == 0;
}

void make_one_locked() {
    if (fresh == fresh_end) {
        void *const memory = platform::vm::map(chunk_bytes);
        if (memory == nullptr) {
            return;
        }
        fresh = static_cast<Tie *>(memory);
        fresh_end = fresh + chunk_bytes / sizeof(Tie);
    }
    Tie *const t = new (fresh) Tie{};
    if (!make_robust(t->life)) {
        return;
    }
    ++fresh;
    ++made;
    t->next = std::exchange(all, t);
    set_loose(t);
}

/// If the thread of the tie has ended, makes the tie loose and returns the thread's heap; otherwise nullptr. Only one
/// caller gets the heap.
Heap::Heap *cut(Tie *t) {
    const sync::Guard hold(lock);
    // What the thread did to its heap is seen: the kernel flags the mutex, after a barrier, after the thread's last
    // instruction.
    if (t->heap == nullptr || pthread_mutex_trylock(&t->life) != EOWNERDEAD) {
        return nullptr;
    }
    pthread_mutex_consistent(&t->life);
    pthread_mutex_unlock(&t->life);
    Heap::Heap *const left = t->heap;
    set_loose(t);
    return left;
}

/// Whether all ties have to be checked before a new one is made.
bool check_is_due() {
    const sync::Guard hold(lock);
    return loose == nullptr && made >= next_check_at;
}

/// Checks all ties, and closes the heaps of threads that have ended.
void check_ties() {
    std::size_t found = 0;
    lock.lock();
    Tie *t = all;
    lock.unlock();
    for (; t != nullptr; t = t->next) { // ties stay in this list for ever
        if (Heap::Heap *const left = cut(t)) {
            heap.levels().close(left);
            ++found;
        }
    }
    const sync::Guard hold(lock);
    if (found < made / 2) { // most threads live: the next check comes later
        next_check_at = 2 * made;
    }
}

} // namespace

Tie *tie(Heap::Heap *mine) noexcept {
    // The first thread needs no tie: its end is that of the process, or the key reports it. It may allocate before an
    // old C library has initialised what robust mutexes need.
    constinit static std::atomic<bool> first_has_come{false};
    // relaxed: the exchange makes one thread the first.
    if (!first_has_come.load(std::memory_order_relaxed) &&
        !first_has_come.exchange(true, std::memory_order_relaxed)) {
        return nullptr;
    }
    if (check_is_due()) {
        check_ties();
    }
    const sync::Guard hold(lock);
    if (loose == nullptr) {
        make_one_locked();
    }
    Tie *const t = loose;
    if (t == nullptr || pthread_mutex_trylock(&t->life) != 0) {
        return nullptr;
    }
    loose = t->next_loose;
    t->heap = mine;
    return t;
}

void untie(Tie *t) noexcept {
    if (t == nullptr) {
        return;
    }
    const sync::Guard hold(lock);
    t->heap = nullptr;
    // In the child of a fork the C library may refuse to unlock the mutex, which the parent's thread has locked: the
    // tie is then lost.
    if (pthread_mutex_unlock(&t->life) == 0) {
        set_loose(t);
    }
}

void forget_threads(const Tie *own) noexcept {
    loose = nullptr;
    if (lock.held()) { // by another thread of the parent: the lists may be inconsistent
        lock.reset_after_fork();
        all = fresh = fresh_end = nullptr;
        made = 0;
        return;
    }
    for (Tie *t = all; t != nullptr; t = t->next) {
        // The tie of the calling thread stays as it is: its mutex may be in a list of the C library, which some C
        // libraries clear in the child and some keep.
        if (t != own) {
            make_robust(t->life);
            set_loose(t);
        }
    }
}

std::size_t metadata() noexcept {
    const sync::Glance hold(lock);
    return made * sizeof(Tie);
}

} // namespace cairn::process_heap::thread_ties
