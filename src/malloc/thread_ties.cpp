// SPDX-License-Identifier: MIT
#include "thread_ties.hpp"

#include <cerrno>
#include <new>
#include <pthread.h>
#include <utility>

namespace cairn::process_heap::thread_ties {

struct Tie {
    pthread_mutex_t life; ///< robust; held by the thread that has the heap
    Heap::Heap *heap;     ///< nullptr: of no thread
    Tie *next;            ///< all of them
    Tie *next_loose;      ///< those of no thread
};

namespace {

constexpr std::size_t chunk_bytes = 64_KiB;
constexpr std::size_t first_look_at = 32;

/// Of all that follows. Within it no other lock is taken.
constinit sync::Lock lock{sync::Rank::leaf};
constinit Tie *all = nullptr;
constinit Tie *loose = nullptr;
constinit Tie *fresh = nullptr; ///< the rest of a chunk
constinit Tie *fresh_end = nullptr;
constinit std::size_t made = 0;
constinit std::size_t look_at = first_look_at; ///< with so many ties the next look is due

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

/// The heap of a thread that has ended, which nobody else will be told; nullptr if it lives.
Heap::Heap *cut(Tie *t) {
    const sync::Guard hold(lock);
    // What the thread did to its heap is seen: the kernel sets the mark, with a barrier, after the thread's last instruction.
    if (t->heap == nullptr || pthread_mutex_trylock(&t->life) != EOWNERDEAD) {
        return nullptr;
    }
    pthread_mutex_consistent(&t->life);
    pthread_mutex_unlock(&t->life);
    Heap::Heap *const left = t->heap;
    set_loose(t);
    return left;
}

/// Whether a tie would have to be made, and a look is due before.
bool look_is_due() {
    const sync::Guard hold(lock);
    return loose == nullptr && made >= look_at;
}

void look() {
    std::size_t found = 0;
    lock.lock();
    Tie *t = all;
    lock.unlock();
    for (; t != nullptr; t = t->next) { // a tie never goes, and keeps its next one
        if (Heap::Heap *const left = cut(t)) {
            heap.levels().close(left);
            ++found;
        }
    }
    const sync::Guard hold(lock);
    if (found < made / 2) { // mostly the living: not again for each thread that comes
        look_at = 2 * made;
    }
}

} // namespace

Tie *tie(Heap::Heap *mine) noexcept {
    // The first thread's end is the process's, or is known. It allocates before threads can be told of by a C library of old.
    constinit static std::atomic<bool> first_has_come{false};
    // relaxed: that it is one exchange makes one the first.
    if (!first_has_come.load(std::memory_order_relaxed) &&
        !first_has_come.exchange(true, std::memory_order_relaxed)) {
        return nullptr;
    }
    if (look_is_due()) {
        look();
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
    // Where a child of a fork is the thread's second life, it may be refused: the mutex is its parent's, and the tie lost.
    if (pthread_mutex_unlock(&t->life) == 0) {
        set_loose(t);
    }
}

void forget_threads(const Tie *own) noexcept {
    loose = nullptr;
    if (lock.held()) { // by a thread that is not here, in the middle of anything
        lock.reset_after_fork();
        all = fresh = fresh_end = nullptr;
        made = 0;
        return;
    }
    for (Tie *t = all; t != nullptr; t = t->next) {
        // The calling thread's own stays as it is: it may be in a list of the C library's, which some forget and some keep.
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
