// SPDX-License-Identifier: MIT
//
// Free lists of a subheap: a lock each, and the two ways in which a block changes hands.
//
// Adds:    take a block that is long enough, take a neighbour if it is free, put a block unless a neighbour is free.
// Needs:   boundary tags; a Parameters (allocators/lkmalloc.hpp).
// Keeps:   a block's tags say `free` exactly while it is on the list of its size. Of two neighbours never both do:
//          put() offers the block, passes a fence, and looks at both neighbours, so of two threads that offer
//          neighbours at least one sees the other (docs/lkmalloc.md).
// Threads: any. A lock is held while a list changes and the tags with it, never two, and never while blocks are joined.
// Cost:    a lock each; a fence to put. take() looks into one list after the other.
// Source:  LKmalloc, section 6, B (approximate best fit) and D (a lock on each free list).
#pragma once

#include <cairn/family/lkmalloc_bins.hpp>
#include <cairn/family/lkmalloc_lists.hpp>
#include <cairn/sync/across_fork.hpp>
#include <cairn/sync/bounded_spin_lock.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn::lkmalloc {

template <class P>
class FreeLists {
public:
    using Sizes = Bins<P::alignment, P::bins>;

    constexpr FreeLists() = default;

    /// A block of at least `size` bytes, or nullptr: the first one of the first list that has one.
    char *take(std::size_t size) {
        for (unsigned bin = Sizes::of(size); bin < Sizes::count; ++bin) {
            FreeList &list = lists_[bin];
            if (list.blocks.seems_empty()) {
                continue;
            }
            const sync::Guard hold(list.lock);
            if (Node *const node = list.blocks.first_fit(size); node != nullptr) {
                return take_locked(list, node);
            }
        }
        return nullptr;
    }

    /// Takes the block before p, or the one at p, if it is free. The caller owns the block on the other side of the
    /// border at p, so there is such a block and such a border. Its size, or 0.
    std::size_t take_before(const char *p) {
        return take_neighbour(p, footer_before,
                              [](const char *border, std::size_t size) { return border - size; });
    }
    std::size_t take_at(const char *p) {
        return take_neighbour(p, header_of, [](const char *border, std::size_t) { return border; });
    }

    /// False, with the block still the caller's, if there is a neighbour to be taken first.
    bool put(const Block &block) {
        FreeList &list = lists_[Sizes::of(block.size)];
        const sync::Guard hold(list.lock);
        set_tags(block.start, Tag(block.size, State::offered));
        // seq_cst: pairs with itself in the thread that puts a neighbour: one of us sees the other's offer.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (footer_before(block.start).state() != State::busy || !stays_busy(block.end())) {
            set_tags(block.start, Tag(block.size, State::busy));
            return false;
        }
        list.blocks.put(reinterpret_cast<Node *>(block.start), block.size);
        set_tags(block.start, Tag(block.size, State::free));
        return true;
    }

    /// f(start, size) for each free block, a list at a time under its lock.
    template <class F>
    void for_each(F f) {
        for (FreeList &list : lists_) {
            const sync::Guard hold(list.lock);
            list.blocks.for_each(
                [&](const Node *node) { f(reinterpret_cast<const char *>(node), node->size()); });
        }
    }

    void lock_all() {
        for (FreeList &list : lists_) {
            list.lock.hold_across_fork();
        }
    }
    void unlock_all(sync::AfterFork) {
        for (FreeList &list : lists_) {
            list.lock.let_go_after_fork();
        }
    }

private:
    struct FreeList {
        sync::BoundedSpinLock<P::spins> lock{sync::Rank::leaf};
        typename P::List blocks;
    };

    template <class Read, class Start>
    std::size_t take_neighbour(const char *border, Read read, Start start) {
        const Tag seen = read(border);
        if (CAIRN_LIKELY(seen.state() == State::busy)) {
            return 0;
        }
        // An offer is decided when its lock is free again.
        FreeList &list = lists_[Sizes::of(seen.size())];
        const sync::Guard hold(list.lock);
        if (read(border) != Tag(seen.size(), State::free)) {
            return 0;
        }
        take_locked(list, reinterpret_cast<Node *>(const_cast<char *>(start(border, seen.size()))));
        return seen.size();
    }

    static char *take_locked(FreeList &list, Node *node) {
        auto *const start = reinterpret_cast<char *>(node);
        const Tag tag = header_of(start);
        if constexpr (platform::checked) {
            if (tag.state() != State::free || footer_before(start + tag.size()) != tag) {
                platform::fatal({"a free list has the block ", start, ", whose tags were overwritten"});
            }
        }
        list.blocks.remove(node);
        set_tags(start, Tag(tag.size(), State::busy));
        return start;
    }

    /// Waits for what becomes of an offer by the neighbour on the right; so of two that see each other the left one
    /// waits and the right one gives way. Nobody waits for a neighbour on the left here, so no two wait for each other.
    static bool stays_busy(const char *right) {
        sync::BoundedSpin<P::spins> wait;
        State state = header_of(right).state();
        while (CAIRN_UNLIKELY(state == State::offered)) {
            wait.once();
            state = header_of(right).state();
        }
        return state == State::busy;
    }

    FreeList lists_[Sizes::count];
};

} // namespace cairn::lkmalloc
