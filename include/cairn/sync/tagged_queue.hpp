// SPDX-License-Identifier: MIT
//
// TaggedQueue: a lock-free queue of numbers, first in, first out (Michael and Scott's, with versions in place of hazard
// pointers).
//
// Adds:    push, pop.
// Needs:   Nodes: at(n), the QueueNode of number n, below 2^number_bits and not 0; zeroed memory that stays mapped
//          while the queue is in use: a thread may read a node that has left the queue. A node may go on to another
//          queue of the same Nodes.
// Keeps:   the queue has one node more than values. pop() hands out a value and, with it, a node that is not the one
//          that its push() brought: the caller keeps it for the next push. Head, tail and each link carry a version
//          that rises with each change, also when a node gets into another queue: a compare-exchange by a thread that
//          was delayed fails (the ABA problem), unless exactly 2^(64 - number_bits) changes took place meanwhile.
// Threads: any; lock-free: who finds the tail behind moves it on.
// Errors:  pop() is false when the queue is empty.
// Cost:    push: two compare-exchanges and two stores. pop: one.
// Source:  Michael and Scott, "Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms"
//          (PODC 1996), which has the versions too; the queue of Michael (PLDI 2004), section 3.2.6.
#pragma once

#include <cairn/platform/features.hpp>

#include <atomic>
#include <cstdint>

namespace cairn::sync {

struct QueueNode {
    std::atomic<std::uint64_t> next{0}; ///< a version, and the number of the next node; 0: the last one
    std::atomic<std::uint64_t> value{0};
};

template <class Nodes>
class TaggedQueue {
public:
    struct Popped {
        std::uint64_t value;
        std::uint64_t node; ///< the caller's from now on
    };

    /// An empty queue, with a node that is nowhere else.
    explicit constexpr TaggedQueue(std::uint64_t node) : head_(node), tail_(node) {}

    /// `node` is not 0, and the caller's; now it is the queue's.
    void push(Nodes &nodes, std::uint64_t node, std::uint64_t value) {
        QueueNode &mine = nodes.at(node);
        mine.value.store(value, std::memory_order_relaxed); // relaxed: the exchange of the link releases it
        const std::uint64_t before =
            mine.next.load(std::memory_order_relaxed); // relaxed: nobody else writes it
        // release: who reads this through an old tail sees, when it looks at the tail again, that the node has left.
        mine.next.store(changed(before, 0), std::memory_order_release);
        for (;;) {
            std::uint64_t tail =
                tail_.load(std::memory_order_acquire); // pairs with the release in move_tail()
            std::atomic<std::uint64_t> &link = nodes.at(number(tail)).next;
            // acquire: pairs with the release of who linked the next node; and with the store above.
            std::uint64_t next = link.load(std::memory_order_acquire);
            if (tail != tail_.load(std::memory_order_relaxed)) { // relaxed: the load before it orders it
                continue;                                        // the link may be of another queue
            }
            if (number(next) != 0) {
                move_tail(tail, number(next));
                continue;
            }
            // release: pairs with the acquire of who reads the link: the node's value. relaxed if it fails: a new look.
            if (link.compare_exchange_strong(next, changed(next, node), std::memory_order_release,
                                             std::memory_order_relaxed)) {
                move_tail(tail, node);
                return;
            }
        }
    }

    bool pop(Nodes &nodes, Popped &popped) {
        for (;;) {
            // acquire: pairs with the release of the exchange below: the tail that is read next is not behind it.
            std::uint64_t head = head_.load(std::memory_order_acquire);
            std::uint64_t tail = tail_.load(std::memory_order_acquire); // as in push()
            const std::uint64_t next =
                nodes.at(number(head)).next.load(std::memory_order_acquire); // as in push()
            if (head != head_.load(std::memory_order_relaxed)) { // relaxed: the load before it orders it
                continue;                                        // the link may be of another queue
            }
            if (number(next) == 0) {
                return false;
            }
            if (number(head) == number(tail)) {
                move_tail(tail, number(next));
                continue;
            }
            // relaxed: the link has been acquired. It may be another value by now; then the exchange fails.
            popped = {nodes.at(number(next)).value.load(std::memory_order_relaxed), number(head)};
            // release: pairs with the acquire above. This thread has seen a tail that is behind the old head.
            if (head_.compare_exchange_strong(head, changed(head, number(next)), std::memory_order_release,
                                              std::memory_order_relaxed)) {
                return true;
            }
        }
    }

    /// For tests, which run alone: f(value) from the first to the last. relaxed: so they do.
    template <class F>
    void for_each(Nodes &nodes, F f) const {
        std::uint64_t n = number(head_.load(std::memory_order_relaxed));
        while ((n = number(nodes.at(n).next.load(std::memory_order_relaxed))) != 0) {
            f(nodes.at(n).value.load(std::memory_order_relaxed));
        }
    }

private:
    static constexpr unsigned bits_ = Nodes::number_bits;
    static_assert(bits_ > 0 && bits_ <= 48, "versions have 16 bits at least");

    static constexpr std::uint64_t number(std::uint64_t word) {
        return word & ((std::uint64_t{1} << bits_) - 1);
    }

    /// The next version, with another number.
    static constexpr std::uint64_t changed(std::uint64_t word, std::uint64_t to) {
        return ((word >> bits_) + 1) << bits_ | to;
    }

    /// release: pairs with the acquire loads of the tail: the node that it names is there. Whether it succeeds or
    /// another thread's does is all one.
    void move_tail(std::uint64_t tail, std::uint64_t to) {
        tail_.compare_exchange_strong(tail, changed(tail, to), std::memory_order_release,
                                      std::memory_order_relaxed);
    }

    alignas(platform::cache_line) std::atomic<std::uint64_t> head_;
    alignas(platform::cache_line) std::atomic<std::uint64_t> tail_;
};

} // namespace cairn::sync
