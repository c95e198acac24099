// SPDX-License-Identifier: MIT
//
// TaggedStack: a lock-free stack of objects, linked through the objects (Treiber's stack with a versioned head).
//
// Adds:    push, pop.
// Needs:   Link(p): the atomic pointer in the object at p that the stack may use as its link. The memory of the objects
//          stays mapped while the stack is in use: a thread in pop() may read the link of an object that another thread
//          has already popped. The caller sees to it that an object is on the stack at most once.
// Keeps:   the head carries a version: a compare-exchange fails when the head was popped and pushed again in between
//          (the ABA problem).
// Threads: any; lock-free.
// Cost:    a compare-exchange each way.
// Source:  the IBM free-list as NBmalloc, section 5 describes it: System/370 Principles of Operation.
#pragma once

#include <cairn/sync/tagged_pointer.hpp>

#include <atomic>

namespace cairn::sync {

template <class T, std::size_t Alignment, auto Link>
class TaggedStack {
public:
    void push(T *p) {
        std::uint64_t bits = head_.load(std::memory_order_relaxed); // relaxed: the compare-exchange decides
        do {
            // relaxed: the release below makes the link visible to the thread that pops p.
            Link(p).store(Head::of_bits(bits).pointer(), std::memory_order_relaxed);
            // release: pairs with the acquire in pop(): the popping thread sees what the pushing thread wrote.
        } while (!head_.compare_exchange_weak(bits, Head::of_bits(bits).next(p).bits(),
                                              std::memory_order_release, std::memory_order_relaxed));
    }

    /// Returns nullptr when the stack is empty.
    T *pop() {
        for (;;) {
            std::uint64_t bits = head_.load(std::memory_order_acquire); // pairs with the release of push
            const Head old = Head::of_bits(bits);
            if (old.is_null()) {
                return nullptr;
            }
            // Link load, relaxed: if another thread has popped the object, the link may have any value, and the
            // compare-exchange fails because the version has changed. Compare-exchange, relaxed: when it succeeds, the
            // version shows that the head is the very store that the load above has acquired.
            T *const next = Link(old.pointer()).load(std::memory_order_relaxed);
            if (head_.compare_exchange_weak(bits, old.next(next).bits(), std::memory_order_relaxed)) {
                return old.pointer();
            }
        }
    }

private:
    using Head = TaggedPointer<T, Alignment>;

    std::atomic<std::uint64_t> head_{0};
};

} // namespace cairn::sync
