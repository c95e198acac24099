// SPDX-License-Identifier: MIT
//
// Across a fork: the thread that calls fork() takes every lock of a heap before the fork and releases them after it, in
// the parent and in the child. No other thread is then inside the heap, and the child finds the heap consistent.
//
// Adds:    ForkLocks, the concept of a heap that takes part; BeginsInChild, that of one that draws random numbers;
//          functions that lock and unlock any heap or lock, and do nothing for a heap that has no locks.
// Needs:   nothing. A heap without lock_all() and unlock_all() has no locks. unlock_all() is passed the side of the
//          fork on which it runs.
// Threads: the thread that forks.
// Cost:    none for heaps without locks.
#pragma once

namespace cairn::sync {

/// The process that releases the locks. The handlers of pthread_atfork() say which one it is; getpid() does not,
/// because the first process of a PID namespace may have the number that its parent has in another namespace.
enum class AfterFork : bool { in_parent, in_child };

template <class H>
concept ForkLocks = requires(H &heap, AfterFork side) {
    heap.lock_all();
    heap.unlock_all(side);
};

/// A heap that draws random numbers has begin_in_child(): in the child of a fork it gives the child a random sequence
/// of its own. A layer that passes the locks on passes this on, too.
template <class H>
concept BeginsInChild = requires(H &heap) { heap.begin_in_child(); };

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

/// Does nothing for a heap without begin_in_child().
template <class H>
void begin_heap_in_child(H &heap) {
    if constexpr (BeginsInChild<H>) {
        heap.begin_in_child();
    }
}

/// Takes a lock before the fork. Locks of the kit are taken without a check of their rank.
template <class L>
void hold_across_fork(L &lock) {
    if constexpr (requires { lock.hold_across_fork(); }) {
        lock.hold_across_fork();
    } else {
        lock.lock();
    }
}

/// Releases a lock that hold_across_fork() took, in the parent or in the child.
template <class L>
void let_go_after_fork(L &lock) {
    if constexpr (requires { lock.let_go_after_fork(); }) {
        lock.let_go_after_fork();
    } else {
        lock.unlock();
    }
}

} // namespace cairn::sync
