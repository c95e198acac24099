// SPDX-License-Identifier: MIT
//
// TaggedStack: a lock-free stack of things that stay where they are.
//
// Adds:    push, pop.
// Needs:   Link(p): the atomic pointer of the thing at p that the stack may use. Things that are never unmapped while the
//          stack is used, since who is about to pop may still look at the link of one that is gone.
// Keeps:   a thing is on the stack at most once: the caller sees to it. The head has a version, so a head that went and
//          came back is not taken for one that stayed.
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
        std::uint64_t bits = head_.load(std::memory_order_relaxed); // relaxed: the exchange decides
        do {
            // relaxed: the release below makes it visible to who pops p.
            Link(p).store(Head::of_bits(bits).pointer(), std::memory_order_relaxed);
            // release: pairs with the acquire of pop: what the pusher did comes before what the popper does.
        } while (!head_.compare_exchange_weak(bits, Head::of_bits(bits).next(p).bits(),
                                              std::memory_order_release, std::memory_order_relaxed));
    }

    /// nullptr: it was empty.
    T *pop() {
        for (;;) {
            std::uint64_t bits = head_.load(std::memory_order_acquire); // pairs with the release of push
            const Head old = Head::of_bits(bits);
            if (old.is_null()) {
                return nullptr;
            }
            // relaxed load of the link: if p is gone already it is anything, and the exchange fails by the version. By the
            // version, too, the exchange finds the very store that the load has acquired: it is relaxed.
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
