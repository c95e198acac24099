// SPDX-License-Identifier: MIT
//
// Border: a heap, and the watch over every block that comes out of it or goes back.
//
// Adds:    take and give, which are malloc and free with all that a check looks for; resize; a look at all blocks.
// Needs:   a heap; a policy that is told of faults; a lock.
// Keeps:   a guard lies behind each block. One given back is filled, and freed after Held more, or at once if over
//          most_filled.
// Threads: those of the heap; look() and the destructor: one.
// Errors:  nullptr from below, when what was held did not help, and when there is no memory for the table.
// Cost:    see check.hpp.
#pragma once

#include <cairn/core/at_end.hpp>
#include <cairn/debug/block_table.hpp>
#include <cairn/debug/tail.hpp>

namespace cairn::debug {

/// What a block from below has to hold.
enum class Contents { any, zero };

template <Heap Super, FaultPolicy Policy, std::size_t Held, class L>
class Border {
public:
    using Tail = debug::Tail<Super>;

    Border() = default;
    Border(const Border &) = delete;
    Border &operator=(const Border &) = delete;

    ~Border() {
        let_go();
        look();
        if constexpr (Policy::leaks) {
            table_.for_each([](void *p, const Block &block) {
                if (block.state == BlockState::live) {
                    Policy::found({Fault::leaked, p, block.size});
                }
            });
        }
    }

    /// A block of `size` bytes; from_below(n) asks the heap for n.
    template <class F>
    void *take(std::size_t size, std::size_t wanted, Contents contents, F from_below) {
        Entry *const entry = size > Tail::most ? nullptr : table_.make();
        if (entry == nullptr) {
            return nullptr;
        }
        void *p = nullptr;
        const AtEnd known([&] { p == nullptr ? table_.undo(entry) : void(); });
        p = from_below(size + Tail::least);
        p = p == nullptr && let_go() ? from_below(size + Tail::least) : p;
        if (p == nullptr) {
            return nullptr;
        }
        admit(entry, p, size, wanted);
        if (contents == Contents::zero) {
            expect_filled<Policy>(p, size, 0, Fault::not_zero);
        } else {
            fill(p, 0, size, unwritten_byte);
        }
        return p;
    }

    void give(void *p) {
        const Block block = table_.claim(p, BlockState::held);
        if (block.extent == 0) {
            return;
        }
        Tail::template look<Policy>(p, block.size, block.extent);
        Tail::put_freed(p, block.size, block.extent);
        if (Held == 0 || block.size > most_filled) {
            release(p);
        } else if (void *const oldest = table_.hold_back(p)) {
            release(oldest);
        }
    }

    /// The heap's reallocate. While it runs the old block is the heap's.
    void *resize(void *p, std::size_t size) {
        Entry *const entry = size > Tail::most ? nullptr : table_.make();
        if (entry == nullptr) {
            return nullptr;
        }
        const Block old = table_.claim(p, BlockState::free);
        if (old.extent == 0) {
            table_.drop(entry);
            return nullptr;
        }
        Tail::template look<Policy>(p, old.size, old.extent);
        const auto ask = [&] { return heap.reallocate(p, size + Tail::least); };
        void *moved = nullptr;
        const AtEnd known([&] { moved == nullptr ? table_.undo(entry, p) : void(); });
        moved = ask();
        moved = moved == nullptr && let_go() ? ask() : moved;
        if (moved == nullptr) {
            return nullptr;
        }
        admit(entry, moved, size, alignment_of<Super>);
        fill(moved, old.size, size, unwritten_byte);
        return moved;
    }

    bool is_live(const void *p) const { return table_.live(p).extent != 0; }
    /// What was asked for when p was taken.
    std::size_t size_of(const void *p) const {
        const Block block = table_.live(p);
        if (block.extent == 0) {
            Policy::found({Fault::invalid_use, p});
        }
        return block.size;
    }

    /// Looks at the guards of all live blocks and at the contents of all that are held.
    void look() const {
        table_.for_each([](void *p, const Block &block) {
            if (block.state == BlockState::live) {
                Tail::template look<Policy>(p, block.size, block.extent);
            } else if (block.state == BlockState::held) {
                expect_filled<Policy>(p, block.size, freed_byte, Fault::written_after_free);
            }
        });
    }

    void forget() { table_.clear(); }

    void lock_all() {
        sync::lock_heap_across_fork(heap);
        table_.lock_all();
    }
    void unlock_all(sync::AfterFork side) {
        table_.unlock_all(side);
        sync::unlock_heap_after_fork(heap, side);
    }

    Super heap;

private:
    using Entry = typename BlockTable<Policy, Held, L>::Entry;

    void admit(Entry *entry, void *p, std::size_t size, std::size_t wanted) {
        if constexpr (SizedHeap<Super>) {
            if (heap.getSize(p) < size + Tail::least) {
                Policy::found({Fault::too_small, p, size});
            }
        }
        if (!is_aligned(p, wanted)) {
            Policy::found({Fault::misaligned, p, size});
        }
        const std::size_t extent = Tail::extent(p, size);
        table_.admit(entry, p, size, extent);
        Tail::put(p, size, extent);
    }

    /// A held block goes below. One that the heap has handed out meanwhile is not ours any more.
    void release(void *p) {
        const Block block = table_.change(p, BlockState::held, BlockState::free);
        if (block.extent != 0) {
            expect_filled<Policy>(p, block.size, freed_byte, Fault::written_after_free);
            heap.free(p);
        }
    }

    /// All that is held goes below. False: nothing was.
    bool let_go() {
        bool any = false;
        for (std::size_t i = 0; i < Held; ++i) {
            if (void *const p = table_.hold_back(nullptr)) {
                release(p);
                any = true;
            }
        }
        return any;
    }

    BlockTable<Policy, Held, L> table_;
};

} // namespace cairn::debug
