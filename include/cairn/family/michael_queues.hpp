// SPDX-License-Identifier: MIT
//
// MichaelQueues: a lock-free queue of partly filled superblocks for each size class.
//
// Adds:    put, get.
// Needs:   superblocks that the caller holds (michael_superblock.hpp), each with a node in its descriptor.
// Keeps:   a superblock brings a node into a queue and leaves with another one, which it keeps for its next stay. Nodes
//          are in descriptors or here, and like these never unmapped while the heap lives; so no hazard pointers.
// Threads: any; lock-free.
// Cost:    that of tagged_queue.hpp.
// Source:  Michael (PLDI 2004), section 3.2.6: ListPutPartial, ListGetPartial, first in, first out.
#pragma once

#include <cairn/family/michael_superblock.hpp>
#include <cairn/sync/tagged_queue.hpp>

#include <array>
#include <utility>

namespace cairn {

template <class Layout, unsigned Classes>
class MichaelQueues {
public:
    void put(unsigned size_class, MichaelSuperblock &superblock) {
        // relaxed: whoever held it before has handed it on.
        const std::uint64_t node = superblock.node.load(std::memory_order_relaxed);
        queues_[size_class].push(*this, node != 0 ? node : number_of(superblock), number_of(superblock));
    }

    /// nullptr: there is none. Otherwise the caller holds it now.
    MichaelSuperblock *get(unsigned size_class) {
        typename Queue::Popped popped;
        if (!queues_[size_class].pop(*this, popped)) {
            return nullptr;
        }
        MichaelSuperblock &superblock = at_number(popped.value);
        superblock.node.store(popped.node, std::memory_order_relaxed); // the next one who holds it reads it
        return &superblock;
    }

    /// For tests, which run alone: f(superblock) from the first to the last.
    template <class F>
    void for_each(unsigned size_class, F f) {
        queues_[size_class].for_each(*this, [&](std::uint64_t number) { f(at_number(number)); });
    }

    // What tagged_queue.hpp needs. A superblock's node has the superblock's number. Below the least of these, which is
    // above in_segment, are those that the queues begin with.
    static constexpr unsigned number_bits = 48 - log2_exact(Layout::superblock);

    sync::QueueNode &at(std::uint64_t number) {
        return number <= Classes ? first_nodes_[number - 1] : at_number(number).own_node;
    }

private:
    using Queue = sync::TaggedQueue<MichaelQueues>;
    static_assert(Classes <= Layout::in_segment);

    static std::uint64_t number_of(const MichaelSuperblock &superblock) {
        return address_of(Layout::memory(&superblock)) / Layout::superblock;
    }
    static MichaelSuperblock &at_number(std::uint64_t number) {
        return *Layout::descriptor(reinterpret_cast<char *>(number * Layout::superblock));
    }

    template <std::size_t... C>
    static constexpr std::array<Queue, Classes> begin(std::index_sequence<C...>) {
        return {Queue(C + 1)...};
    }

    std::array<Queue, Classes> queues_ = begin(std::make_index_sequence<Classes>());
    std::array<sync::QueueNode, Classes> first_nodes_{};
};

} // namespace cairn
