// SPDX-License-Identifier: MIT
//
// Arenas: a list of heaps with a lock each, of which a thread takes the first that nobody else is using.
//
// Adds:    choose(), an arena that the calling thread holds the lock of; a walk over all.
// Needs:   A: an arena with `next` and `lock`, of a rank above Rank::registry; a ChunkSource, handed in, for the memory
//          of further arenas.
// Keeps:   the search starts at the arena that the thread had last. No thread waits for an arena while there is
//          memory for another one. Arenas stay until all are destroyed.
// Threads: any.
// Errors:  none: without memory choose() waits for the arena that the thread had last.
// Cost:    two loads and a try_lock; a try_lock for each arena that is in use.
// Source:  LKmalloc, section 7, Ptmalloc: "scans the linked list of subheaps and grabs the first unlocked one"; Hoard,
//          section 6.1: the choice is cached for the next attempt.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/sync/lock.hpp>
#include <cairn/thread/thread_slot.hpp>

#include <new>

namespace cairn::family {

template <class A>
class CAIRN_BY_CHECKS Arenas { // another() takes a lock for its caller
public:
    constexpr Arenas() = default;
    Arenas(const Arenas &) = delete;
    Arenas &operator=(const Arenas &) = delete;
    ~Arenas() {
        A *arena = after(first_);
        while (arena != nullptr) {
            A *const next = after(*arena);
            arena->~A();
            arena = next;
        }
    }

    template <class Source>
    A &choose(Source &source) {
        const unsigned slot = thread_slot();
        // relaxed, here and below: a hint; an arena is never taken but by its lock.
        A *const cached = slot == no_thread_slot ? nullptr : last_[slot].load(std::memory_order_relaxed);
        A &start = cached != nullptr ? *cached : first_;
        if (CAIRN_LIKELY(start.lock.try_lock())) {
            return start;
        }
        A &other = another(start, source);
        if (slot != no_thread_slot) {
            last_[slot].store(&other, std::memory_order_relaxed);
        }
        return other;
    }

    /// f(arena) for each arena there is now.
    template <class F>
    void for_each(F f) const {
        for (const A *arena = &first_; arena != nullptr; arena = after(*arena)) {
            f(*arena);
        }
    }

    void hold_across_fork() {
        making_.hold_across_fork();
        for (A *arena = &first_; arena != nullptr; arena = after(*arena)) {
            arena->lock.hold_across_fork();
        }
    }
    void let_go_after_fork() {
        for (A *arena = &first_; arena != nullptr; arena = after(*arena)) {
            arena->lock.let_go_after_fork();
        }
        making_.let_go_after_fork();
    }

private:
    /// acquire: pairs with the release in make(), so that the arena is seen whole.
    static A *after(const A &arena) { return arena.next.load(std::memory_order_acquire); }

    /// The list as a ring.
    A *following(const A &arena) {
        A *const next = after(arena);
        return next != nullptr ? next : &first_;
    }

    template <class Source>
    CAIRN_COLD A &another(A &start, Source &source) {
        for (A *arena = following(start); arena != &start; arena = following(*arena)) {
            if (arena->lock.try_lock()) {
                return *arena;
            }
        }
        if (A *const made = make(source); made != nullptr) {
            return *made;
        }
        start.lock.lock();
        return start;
    }

    /// An arena that the caller holds before others can see it.
    template <class Source>
    A *make(Source &source) {
        const sync::Guard guard(making_);
        void *const memory = source.forever(sizeof(A));
        if (memory == nullptr) {
            return nullptr;
        }
        A *const arena = new (memory) A;
        arena->lock.lock();
        newest_->next.store(arena, std::memory_order_release); // pairs with the acquire in after()
        newest_ = arena;
        return arena;
    }

    sync::Lock making_{sync::Rank::registry};
    A *newest_ = &first_;
    A first_;
    std::atomic<A *> last_[max_thread_slots] = {};
};

} // namespace cairn::family
