// SPDX-License-Identifier: MIT
//
// SbrkHeap: adjacent blocks at the program break.
//
// Adds:    malloc, clear. free does nothing, because memory below the break cannot be given back in the middle; a layer
//          above reuses blocks. lock_break and unlock_break, for a thread that forks while other threads use such
//          heaps: without them the child may find the lock held.
// Needs:   nothing below. A C library whose sbrk grows (glibc's does; musl's always refuses, and so does this heap).
// Keeps:   blocks are adjacent while no other code moves the break; after such a move a new stretch of memory begins.
//          clear and the destructor lower the break over all stretches that are still on top, and give the pages of the
//          other stretches back to the kernel; the addresses of those stay in use.
// Threads: one at a time for each heap. Several heaps may be used by several threads: one lock guards the break among
//          them, but no other code may move it at that moment (glibc's own malloc does, in its main arena).
// Errors:  nullptr when the break cannot rise; errno is never touched.
// Cost:    a system call a block: put a BumpHeap on it. At most 15 bytes a block, 16 a stretch.
// Source:  Heap Layers, Table 1: sbrkHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/vm.hpp>
#include <cairn/sync/bounded_spin_lock.hpp>

#include <atomic>
#include <cerrno>

#include <unistd.h>

namespace cairn {

class SbrkHeap {
public:
    static constexpr std::size_t alignment = quantum;
    static constexpr bool contiguous = true; ///< adjacent blocks, free does nothing: a layer may join them
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
        const Guard guard;
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
        const Guard guard;
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

    /// Before a fork, after the locks of all heaps above were taken. lock_all() of the heaps above does not call it:
    /// each of several heaps would take the one lock.
    static void lock_break() {
        sync::BoundedSpin wait;
        // acquire: pairs with the release in unlock_break().
        while (break_held_.exchange(true, std::memory_order_acquire)) {
            wait.once();
        }
    }
    /// After the fork, in the parent and in the child.
    static void unlock_break() { break_held_.store(false, std::memory_order_release); }

private:
    /// The front of a stretch of memory in which the blocks of this heap are adjacent.
    struct alignas(quantum) Stretch {
        Stretch *below;
        char *start; ///< the break before the stretch: up to alignment - 1 bytes before it
        char *end;
    };

    /// Raises the break by `by` bytes. Returns the former break, or nullptr if it could not rise.
    static char *move_break(std::size_t by) {
        const int error = errno;
        void *const before = sbrk(static_cast<std::intptr_t>(by));
        errno = error;
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

    struct [[nodiscard]] Guard {
        Guard() { lock_break(); }
        ~Guard() { unlock_break(); }
        Guard(const Guard &) = delete;
        Guard &operator=(const Guard &) = delete;
    };

    /// The process has one break, so all these heaps share one lock. With it held only the kernel is called. Not a
    /// sync::Lock, which is another type in files with assertions: there would be two.
    static constinit inline std::atomic<bool> break_held_{false};

    Stretch *last_ = nullptr;
};

static_assert(ClearableHeap<SbrkHeap>);

} // namespace cairn
