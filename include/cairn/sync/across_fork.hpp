// SPDX-License-Identifier: MIT
//
// Across a fork: the thread that forks takes every lock of a heap before, and lets go of them after, in the parent and
// in the child, so that the child finds the heap whole.
//
// Adds:    ForkLocks, the heaps that have a part in this; the same two steps for any lock and any heap below.
// Needs:   nothing. A heap without lock_all and unlock_all has no locks. unlock_all is told on which side of the fork it is.
// Threads: the one that forks.
// Cost:    none for heaps without locks.
#pragma once

namespace cairn::sync {

/// Who lets go. pthread_atfork tells; getpid() does not: the first process of a PID namespace may have its parent's number.
enum class AfterFork : bool { in_parent, in_child };

template <class H>
concept ForkLocks = requires(H &heap, AfterFork side) {
    heap.lock_all();
    heap.unlock_all(side);
};

template <class H>
void lock_heap_across_fork(H &heap) {
    if constexpr (requires { heap.lock_all(); }) {
        heap.lock_all();
    }
}

template <class H>
void unlock_heap_after_fork(H &heap, AfterFork side) {
    if constexpr (requires { heap.lock_all(); }) {
        heap.unlock_all(side);
    }
}

/// A heap that draws by chance has begin_in_child, by which the children of one process come to draw apart.
template <class H>
void begin_heap_in_child(H &heap) {
    if constexpr (requires { heap.begin_in_child(); }) {
        heap.begin_in_child();
    }
}

/// A lock of the kit is taken without regard to its rank.
template <class L>
void hold_across_fork(L &lock) {
    if constexpr (requires { lock.hold_across_fork(); }) {
        lock.hold_across_fork();
    } else {
        lock.lock();
    }
}

template <class L>
void let_go_after_fork(L &lock) {
    if constexpr (requires { lock.let_go_after_fork(); }) {
        lock.let_go_after_fork();
    } else {
        lock.unlock();
    }
}

} // namespace cairn::sync
