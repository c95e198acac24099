// SPDX-License-Identifier: MIT
//
// The lock-free lists of sync/: pushes and pops against each other, with things that go and come back (ABA); and the
// lock that spins.
#include "model.hpp"

#include <cairn/run/spare_runs.hpp>
#include <cairn/superblock/wanted_visits.hpp>
#include <cairn/sync/bounded_spin_lock.hpp>
#include <cairn/sync/ibm_freelist.hpp>
#include <cairn/sync/tagged_queue.hpp>
#include <cairn/sync/tagged_stack.hpp>

using namespace cairn;

namespace {

struct alignas(64) Thing {
    std::atomic<Thing *> link{nullptr};
    int data = 0;
    std::atomic<unsigned> holders{0};

    /// From here to release() nobody else may have it.
    void hold() {
        model::check(holders.fetch_add(1, std::memory_order_relaxed) == 0, "two have it at one time");
        ++data;
    }
    void release() { holders.fetch_sub(1, std::memory_order_relaxed); }
};
std::atomic<Thing *> &link_of(Thing *thing) {
    return thing->link;
}
using Stack = sync::TaggedStack<Thing, 64, link_of>;

/// As TaggedPointer, but the version stays: what it is for.
template <class T, std::size_t>
class UntaggedPointer {
public:
    UntaggedPointer() = default;
    static UntaggedPointer of_bits(std::uint64_t bits) {
        UntaggedPointer p;
        p.bits_ = bits;
        return p;
    }
    std::uint64_t bits() const { return bits_; }
    T *pointer() const { return reinterpret_cast<T *>(bits_); }
    bool is_null() const { return bits_ == 0; }
    UntaggedPointer next(T *p) const { return of_bits(reinterpret_cast<std::uintptr_t>(p)); }

private:
    std::uint64_t bits_ = 0;
};

template <unsigned Things>
struct StackBase {
    Thing things[Things];
    Stack stack;

    StackBase() {
        for (Thing &thing : things) {
            stack.push(&thing);
        }
    }
    Thing *pop() {
        Thing *const p = stack.pop();
        if (p != nullptr) {
            p->hold();
        }
        return p;
    }
    void push(Thing *p) {
        p->release();
        stack.push(p);
    }
    /// All things are there, once.
    void finish() {
        unsigned count = 0;
        while (Thing *const p = stack.pop()) {
            p->hold();
            model::check(++count <= Things, "a thing twice");
        }
        model::check(count == Things, "a thing is lost");
    }
};

/// Runs that are put into a place and taken from it: whoever has one has it alone, and sees what the one before did to
/// it.
struct Spares {
    OwnerLine runs[2]{};
    SpareRuns spares;

    Spares() {
        runs[0].slots = 1;
        runs[1].slots = 2;
        spares.put(1, &runs[0]);
    }
    void put(OwnerLine *run) {
        if (run != nullptr) {
            ++run->carved; // any field: who races with this is found
            if (OwnerLine *const before = spares.put(1, run)) {
                ++before->carved;
            }
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            put(&runs[1]);
        }
        if (OwnerLine *const run = spares.take(1)) {
            ++run->carved;
            if (i == 1) {
                put(run);
            }
        }
    }
};
const model::Kernel<Spares, 2> spares_two("spares.two");
const model::Kernel<Spares, 3> spares_three("spares.three");

/// Long runs in places of their own, for both of which there is no room beside a third one, while a place is emptied:
/// they never have more than they may, and what lies there has room.
struct LongSpares {
    static constexpr unsigned third = 2;
    OwnerLine runs[third + 1]{};
    SpareRuns spares;

    LongSpares() {
        for (unsigned i = 0; i <= third; ++i) {
            runs[i].slots = SpareRuns::most_slots;
            spares.note(place[i], &runs[i]);
            for (unsigned turn = 1; turn < SpareRuns::least_turns; ++turn) {
                model::check(spares.put(place[i], &runs[i]) == &runs[i], "it waits too soon");
            }
        }
        put(place[third], &runs[third]);
    }
    static constexpr unsigned place[] = {1, 2, 3};
    static_assert(3 * SpareRuns::most_slots > SpareRuns::long_slots);
    static void have(OwnerLine *run) {
        if (run != nullptr) {
            ++run->carved; // any field: who races with this is found
        }
    }
    void put(unsigned who, OwnerLine *run) {
        have(run);
        have(spares.put(who, run));
        have(spares.excess(who));
    }
    void thread(unsigned i) { i < third ? put(place[i], &runs[i]) : have(spares.give_up(place[0])); }
    void finish() {
        const std::size_t lie = spares.bytes();
        model::check(lie <= SpareRuns::long_slots * slot_size, "more lies there than may");
        model::check(lie <= spares.long_room(), "something lies there that has no room");
        model::outcome(lie > span_of(&runs[third]) ? "one" : "none");
        for (const unsigned who : place) {
            spares.give_up(who);
        }
        model::check(spares.long_room() == 0, "there is room for nothing");
    }
};
const model::Kernel<LongSpares, 3> spares_long("spares.long", {.outcomes = "none, one"});

/// A long run goes to where the last one of its thread has left room, while that room is left: by who empties all
/// places, or by a thread with the same place that frees a long run as the first of its kind.
template <bool Emptied>
struct LongSpareAgain : LongSpares {
    LongSpareAgain() {
        put(place[0], &runs[0]);
        have(spares.take(place[0]));
    }
    void thread(unsigned i) {
        if (i == 0) {
            put(place[0], &runs[0]);
        } else if (Emptied) {
            have(spares.give_up(place[0]));
        } else {
            put(place[0] + SpareRuns::places, &runs[1]);
        }
    }
};
const model::Kernel<LongSpareAgain<true>, 2> spares_emptied("spares.long.emptied", {.outcomes = "none, one"});
const model::Kernel<LongSpareAgain<false>, 2> spares_shared("spares.long.shared", {.outcomes = "none, one"});

/// One pops and pushes back, another one pops two and pushes the first one back: ABA.
struct Aba : StackBase<2> {
    void thread(unsigned i) {
        Thing *const p = pop();
        if (i == 0) {
            if (p != nullptr) {
                push(p);
            }
            return;
        }
        Thing *const q = pop();
        if (p != nullptr) {
            push(p);
        }
        if (q != nullptr) {
            push(q);
        }
    }
};
const model::Kernel<Aba, 2> aba("stack.aba");

struct Swap : StackBase<2> {
    void thread(unsigned) {
        if (Thing *const p = pop()) {
            push(p);
        }
    }
};
const model::Kernel<Swap, 3> swap("stack.three", {.executions = 500'000, .short_executions = 20'000});

struct Pushes {
    Thing things[2];
    Stack stack;
    void thread(unsigned i) {
        if (i < 2) {
            things[i].data = 1;
            stack.push(&things[i]);
        } else if (Thing *const p = stack.pop()) {
            model::check(p->data == 1, "what was pushed is not seen");
            if (Thing *const q = stack.pop()) {
                model::check(q->data == 1, "what was pushed first is not seen");
            }
        }
    }
};
const model::Kernel<Pushes, 3> pushes("stack.push_push_pop");

/// Two queues, and things that go from one to the other; nodes go with them. Nodes 1 to 3 are the things', 4 and 5
/// those that the queues begin with.
struct Queues {
    static constexpr unsigned things = 3;
    static constexpr unsigned number_bits = 16;
    using Queue = sync::TaggedQueue<Queues>;

    sync::QueueNode nodes[things + 2];
    Queue queues[2]{Queue(things + 1), Queue(things + 2)};
    struct Element {
        std::uint64_t node = 0; ///< of who has it
        unsigned data = 0;
    };
    Element elements[things];
    bool there[things] = {};

    Queues() {
        for (unsigned i = 0; i < things; ++i) {
            elements[i].node = i + 1;
        }
    }
    sync::QueueNode &at(std::uint64_t number) {
        model::check(number >= 1 && number <= things + 2, "a number that no node has");
        return nodes[number - 1];
    }
    void push(unsigned queue, unsigned value) {
        ++elements[value].data;
        queues[queue].push(*this, elements[value].node, value);
    }
    /// `things`: there was none.
    unsigned pop(unsigned queue) {
        Queue::Popped popped{};
        if (!queues[queue].pop(*this, popped)) {
            return things;
        }
        model::check(popped.value < things, "a value that nobody pushed");
        Element &found = elements[popped.value]; // plain: who races with this is found
        ++found.data;
        found.node = popped.node;
        return static_cast<unsigned>(popped.value);
    }
    /// All things are there, once, each with a node of its own.
    void finish_with(unsigned expected) {
        unsigned nodes_of_all = 0;
        unsigned count = 0;
        for (unsigned queue = 0; queue < 2; ++queue) {
            for (unsigned value = pop(queue); value != things; value = pop(queue)) {
                model::check(!there[value], "a thing twice");
                there[value] = true;
                nodes_of_all |= 1u << elements[value].node;
                model::check(++count <= things, "a thing twice");
            }
        }
        model::check(count == expected, "a thing is lost");
        model::check(static_cast<unsigned>(__builtin_popcount(nodes_of_all)) == expected, "a node twice");
    }
};

/// Who pops sees what who pushed has written, and in the order of the pushes.
struct QueueOrder : Queues {
    unsigned got[3] = {};
    void thread(unsigned i) {
        if (i == 0) {
            push(0, 0);
            push(0, 1);
        } else {
            got[0] = pop(0);
            got[1] = pop(0);
        }
    }
    void finish() {
        model::check(got[0] == things || got[0] == 0, "not the first one first");
        model::check(got[1] == things || got[1] == (got[0] == things ? 0u : 1u), "not the next one next");
        finish_with(2 - (got[0] != things ? 1 : 0) - (got[1] != things ? 1 : 0));
        model::outcome(got[1] == 1 ? "both" : got[0] == 0 || got[1] == 0 ? "one" : "none");
    }
};
const model::Kernel<QueueOrder, 2> queue_order("queue.order", {.outcomes = "both, none, one"});

struct QueuePushes : Queues {
    void thread(unsigned i) { push(0, i); }
    void finish() { finish_with(2); }
};
const model::Kernel<QueuePushes, 2> queue_pushes("queue.pushes");

/// Each takes out what is first and puts it back behind: nodes come back to the queue (ABA).
template <unsigned Had, unsigned Threads>
struct QueueAgain : Queues {
    QueueAgain() {
        for (unsigned i = 0; i < Had; ++i) {
            push(0, i);
        }
    }
    void thread(unsigned) {
        const unsigned value = pop(0);
        model::check(value != things || Had < Threads, "there is one, and it is not found");
        if (value != things) {
            push(0, value);
        }
    }
    void finish() { finish_with(Had); }
};
const model::Kernel<QueueAgain<1, 2>, 2> queue_again_1("queue.again.one");
const model::Kernel<QueueAgain<2, 2>, 2> queue_again_2("queue.again");
const model::Kernel<QueueAgain<2, 3>, 3> queue_again_3("queue.again.three",
                                                       {.executions = 500'000, .short_executions = 10'000});

/// Into the other queue: who has an old tail must not link its node there.
struct QueueOther : Queues {
    QueueOther() { push(0, 0); }
    void thread(unsigned i) {
        if (i == 0) {
            push(0, 1);
            return;
        }
        push(0, 2); // so that the node leaves that thread 0 may have seen as the last one
        for (int k = 0; k < 2; ++k) {
            if (const unsigned value = pop(0); value != things) {
                push(1, value);
            }
        }
    }
    void finish() {
        unsigned in_the_other = 0;
        queues[1].for_each(*this, [&](std::uint64_t value) { in_the_other |= 1u << value; });
        model::check(in_the_other == 5 || in_the_other == 3, "not the first two are in the other queue");
        model::outcome(in_the_other == 5 ? "its own" : "another's");
        finish_with(3);
    }
};
const model::Kernel<QueueOther, 2> queue_other("queue.other", {.outcomes = "another's, its own"});

/// The tail is behind, and who pops knows an even older one: the head must not pass it, or a node that has left comes
/// in behind itself.
struct QueueBehind : Queues {
    void thread(unsigned i) {
        if (i == 0) {
            push(0, 0);
            push(0, 1);
            return;
        }
        const unsigned value = pop(0);
        if (i == 2 && value != things) {
            push(0, value);
        }
        had[i - 1] = value != things;
    }
    bool had[2] = {};
    void finish() { finish_with(had[0] ? 1 : 2); }
};
const model::Kernel<QueueBehind, 3> queue_behind("queue.behind",
                                                 {.executions = 500'000, .short_executions = 20'000});

/// Two push and one pops.
struct QueueBusy : Queues {
    QueueBusy() { push(0, 2); }
    void thread(unsigned i) {
        if (i < 2) {
            push(0, i);
        } else if (const unsigned value = pop(0); value != things) {
            push(1, value);
        }
    }
    void finish() { finish_with(3); }
};
const model::Kernel<QueueBusy, 3> queue_busy("queue.busy",
                                             {.executions = 500'000, .short_executions = 10'000});

/// The free list of a superblock: blocks of 16 bytes, whose first bytes the program writes to once it has them.
struct Blocks {
    static constexpr unsigned count = 3, shift = 4;
    alignas(64) char row[count << shift] = {};
    std::atomic<unsigned> holders[count] = {};
    sync::IbmFreelist list;

    Blocks() {
        list.set_alone(0, count);
        model::racy(row, sizeof row);
    }
    std::uint32_t pop() {
        const auto popped = list.pop(row, shift);
        if (popped.block != sync::IbmFreelist::none) {
            model::check(popped.block < count && popped.left < count, "no such block");
            model::check(holders[popped.block].fetch_add(1, std::memory_order_relaxed) == 0,
                         "a block is handed out twice");
        }
        return popped.block;
    }
    void push(std::uint32_t block) {
        if (block != sync::IbmFreelist::none) {
            holders[block].fetch_sub(1, std::memory_order_relaxed);
            list.push(row, shift, block, count);
        }
    }
    void finish() {
        model::check(list.count() == count, "the count is wrong");
        for (unsigned i = 0; i < count; ++i) {
            model::check(pop() != sync::IbmFreelist::none, "a block is lost");
        }
        model::check(pop() == sync::IbmFreelist::none, "a block too many");
    }
};
struct BlocksAba : Blocks {
    void thread(unsigned i) {
        const std::uint32_t p = pop();
        if (i == 0) {
            push(p);
            return;
        }
        const std::uint32_t q = pop();
        push(p);
        push(q);
    }
};
const model::Kernel<BlocksAba, 2> blocks_aba("freelist.aba");

/// The same block comes back to the front, with as many behind it as before, and another one next to it.
struct BlocksSame : Blocks {
    void thread(unsigned i) {
        if (i == 0) {
            push(pop());
            return;
        }
        const std::uint32_t p = pop(), q = pop(), r = pop();
        push(q);
        push(r);
        push(p);
    }
};
const model::Kernel<BlocksSame, 2> blocks_same("freelist.same_again", model::capped(5'000));

/// What the last owner of a block did is seen by the next one.
struct BlocksHandOver {
    static constexpr unsigned shift = 4;
    alignas(64) char row[2 << shift] = {};
    sync::IbmFreelist list;
    int *data() { return reinterpret_cast<int *>(row + 8); }

    BlocksHandOver() { list.set_alone(0, 0); }
    void thread(unsigned i) {
        if (i == 0) {
            *data() = 1;
            list.push(row, shift, 0, 2);
        } else if (list.pop(row, shift).block == 0) {
            model::check(*data() == 1, "its last use is not seen");
            *data() = 2;
        }
    }
};
const model::Kernel<BlocksHandOver, 2> blocks_hand("freelist.hand_over");

struct Spin {
    sync::BoundedSpinLock<2> lock{sync::Rank::leaf};
    int inside = 0;
    void thread(unsigned i) {
        if (i == 2) {
            if (lock.try_lock()) {
                ++inside;
                lock.unlock();
            }
            return;
        }
        lock.lock();
        ++inside;
        lock.unlock();
    }
    void finish() { model::check(inside >= 2, "a step is lost"); }
};
const model::Kernel<Spin, 2> spin("spin_lock");
const model::Kernel<Spin, 3> spin_3("spin_lock.three", {.executions = 300'000, .short_executions = 10'000});

/// The heaps to visit: any thread adds, one takes.
template <unsigned Adders>
struct Wanted {
    WantedVisits wanted;
    Inbox inboxes[2];
    unsigned taken = 0;

    Wanted() { wanted.add(inboxes[0]); }
    void thread(unsigned i) {
        if (i < Adders) {
            wanted.add(inboxes[i]);
            return;
        }
        for (unsigned n = 0; n < 2; ++n) {
            taken += wanted.take() != nullptr ? 1 : 0;
        }
    }
    /// What is there still comes once; what was added and is not there was taken.
    void finish() {
        unsigned left = 0;
        while (const Inbox *inbox = wanted.take()) {
            model::check(inbox == &inboxes[0] || inbox == &inboxes[1], "no such inbox");
            ++left;
        }
        model::check(left <= 2 && taken + left >= Adders && taken + left <= Adders + 1,
                     "a inbox is lost, or there twice");
    }
};
const model::Kernel<Wanted<1>, 2> wanted_1("wanted_visits.again");
const model::Kernel<Wanted<2>, 3> wanted_2("wanted_visits");

} // namespace
