// SPDX-License-Identifier: MIT
//
// SbrkHeap: memory at the program break, block behind block.
//
// Adds:    malloc, clear. free does nothing: the break can not be cut in the middle; a layer above reuses
//          blocks. lock_break and unlock_break, for who forks while threads use such heaps: or the child may find the lock held.
// Needs:   nothing below. A C library whose sbrk grows (glibc; that of musl always refuses, and so does this
//          heap).
// Keeps:   blocks follow each other without a gap while nobody else moves the break; where somebody did, a
//          new stretch starts behind. clear and the destructor lower the break over all stretches that are
//          still on top, and give the pages of the others back to the kernel, whose addresses stay used.
// Threads: each heap one at a time. Several heaps may run in several threads: one lock guards the break among
//          them, but no one else may move it in that moment (glibc's own malloc does, in its main arena).
// Errors:  nullptr when the break can not rise.
// Cost:    a system call a block: put a BumpHeap on it. At most 15 bytes a block, 16 a stretch.
// Source:  Heap Layers, Table 1: sbrkHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/vm.hpp>
#include <cairn/sync/lock.hpp>

#include <unistd.h>

namespace cairn {

class SbrkHeap {
public:
    static constexpr std::size_t alignment = quantum;
    static constexpr bool contiguous = true; ///< so a layer above may join blocks: free does nothing
    static constexpr bool takes_others = true;

    SbrkHeap() = default;
    SbrkHeap(const SbrkHeap &) = delete;
    SbrkHeap &operator=(const SbrkHeap &) = delete;
    ~SbrkHeap() { clear(); }

    void *malloc(std::size_t size) {
        if (size > max_size_) {
            return nullptr;
        }
        const std::size_t need = align_up(size == 0 ? 1 : size, alignment);
        const sync::Guard guard(break_lock_);
        char *const top = move_break(0);
        if (last_ == nullptr || top != last_->end) {
            return start_stretch(top, need);
        }
        if (move_break(need) == nullptr) {
            return nullptr;
        }
        last_->end = top + need;
        return top;
    }

    void free(void *) {}

    void clear() {
        const sync::Guard guard(break_lock_);
        while (last_ != nullptr) {
            const Stretch stretch = *last_;
            if (move_break(0) == stretch.end) {
                sbrk(stretch.start - stretch.end);
            } else {
                give_pages_back(stretch.start, stretch.end);
            }
            last_ = stretch.below;
        }
    }

    /// Before a fork, after the locks of all heaps above: those have no part in this, or each would take it among its own.
    static void lock_break() { break_lock_.hold_across_fork(); }
    /// After it, in the parent and in the child.
    static void unlock_break() { break_lock_.let_go_after_fork(); }

private:
    /// At the start of each stretch of memory that is ours without a gap.
    struct alignas(quantum) Stretch {
        Stretch *below;
        char *start; ///< where the break was: up to alignment - 1 bytes before the stretch
        char *end;
    };

    /// The break as it was before, nullptr if it did not move.
    static char *move_break(std::size_t by) {
        void *const before = sbrk(static_cast<std::intptr_t>(by));
        return address_of(before) == SIZE_MAX ? nullptr : static_cast<char *>(before);
    }

    void *start_stretch(char *top, std::size_t need) {
        const std::size_t padding = align_up(address_of(top), alignment) - address_of(top);
        const std::size_t length = padding + sizeof(Stretch) + need;
        if (top == nullptr || move_break(length) == nullptr) {
            return nullptr;
        }
        auto *const stretch = reinterpret_cast<Stretch *>(top + padding);
        *stretch = Stretch{last_, top, top + length};
        last_ = stretch;
        return stretch + 1;
    }

    static void give_pages_back(char *start, char *end) {
        const std::size_t page = platform::vm::page_size();
        const std::size_t first = align_up(address_of(start), page);
        const std::size_t last = align_down(address_of(end), page);
        if (first < last) {
            platform::vm::purge(reinterpret_cast<void *>(first), last - first);
        }
    }

    static constexpr std::size_t max_size_ = PTRDIFF_MAX / 2;

    /// One break, so one lock for all of these heaps. Nothing is called under it but the kernel.
    static constinit inline sync::Lock break_lock_{sync::Rank::leaf};

    Stretch *last_ = nullptr;
};

static_assert(ClearableHeap<SbrkHeap>);

} // namespace cairn
