// SPDX-License-Identifier: MIT
//
// Per thread: which thread heap is the calling thread's.
//
// Adds:    a heap for each thread, from its first slow path to its end; one heap that is shared, under a lock, by
//          threads that can have none of their own.
// Needs:   Levels, for new heaps; `Hooks::attached()`, which returns whether a thread's end will be known.
// Keeps:   when a thread ends, another thread gets its heap.
// Threads: any. One object for each type: the thread's pointer is static.
// Errors:  nullptr when out of memory.
// Cost:    8 bytes of thread-local storage, one load.
// Source:  Hoard, section 3 (per-processor heaps; here one for each thread).
#pragma once

#include <cairn/thread/levels.hpp>

namespace cairn {

template <class Levels, class Hooks>
class PerThread {
public:
    using Heap = typename Levels::Heap;

    explicit constexpr PerThread(Levels &levels) : levels_(levels) {}

    /// The calling thread's heap; without one, a placeholder that has empty bins and owns no superblock.
    CAIRN_INLINE static Heap *mine() { return mine_; }
    /// Whether the calling thread has a heap.
    bool attached() const { return mine_ != &unattached_ && mine_ != &ended_; }

    /// The heap for a free that mine() does not serve. A thread that frees gets a heap even if it never allocates:
    /// otherwise all such threads would store their hazard words in one placeholder, and contend for its cache line. A
    /// thread that begins with a free is an heir: it gets `wanted`, the heap that has the block, if no thread has that.
    Heap *heap_for_frees(Heap *wanted) {
        if (CAIRN_UNLIKELY(!serves_frees())) {
            attach(wanted);
        }
        return mine_;
    }

    /// Whether mine() serves frees: the thread has a heap, or has given its heap back.
    bool serves_frees() const { return mine_ != &unattached_; }

    /// A block of a size class, from the slow path of the thread's heap or of the shared one. nullptr: as of
    /// HeapContents::malloc.
    void *malloc_class(unsigned c, Growth growth) {
        if (attached() || attach()) {
            return mine_->malloc_class(c, growth);
        }
        sync::Guard hold(shared_guard_);
        if (shared_ == nullptr && (shared_ = open(nullptr, /*for_all=*/true)) == nullptr) {
            return nullptr;
        }
        return shared_->malloc_class(c, growth);
    }

    /// The free bytes of the calling thread's heap.
    std::size_t free_bytes() const { return attached() ? mine_->free_bytes() : 0; }

    /// The calling thread's heap gives up every superblock without live blocks. False if there was none.
    bool give_empty() { return attached() && mine_->give_empty(); }

    /// The calling thread ends. False if it had no heap.
    bool detach() {
        Heap *const heap = mine_;
        if (!attached()) {
            return false;
        }
        mine_ = &ended_;
        levels_.close(heap);
        return true;
    }

    /// In the child of a fork, before Levels::repair_after_fork. Returns the heap of the surviving thread; nullptr if
    /// it has none.
    Heap *reset_after_fork() {
        shared_guard_.reset_after_fork();
        shared_ = nullptr;
        return attached() ? mine_ : nullptr;
    }

private:
    /// `wanted` with the superblocks that its last thread left, or a heap without superblocks.
    Heap *open(Heap *wanted, bool for_all = false) {
        Heap *const heap = levels_.open(wanted, for_all);
        if (heap != nullptr && heap != wanted) {
            heap->hand_over(Keep::nothing);
        }
        return heap;
    }

    /// Gets the calling thread a heap. False when out of memory, or when the thread's end would not be known.
    bool attach(Heap *wanted = nullptr) {
        Heap *const heap = open(wanted);
        if (heap == nullptr) {
            return false;
        }
        Heap *const before = mine_;
        mine_ = heap;
        if (!Hooks::attached()) {
            mine_ = before;
            levels_.close(heap);
            return false;
        }
        return true;
    }

    // Placeholders. Threads share them without a lock: all that a thread stores in one is its hazard word, an atomic,
    // which no thread reads for a decision, since no visit comes to a heap that is not in the registry.
    static inline constinit Heap unattached_{}; ///< of threads that have had no heap yet
    static inline constinit Heap ended_{};      ///< of threads that have given their heap back

    static inline thread_local constinit Heap *mine_ __attribute__((tls_model("initial-exec"))) =
        &unattached_;

    Levels &levels_;
    sync::Lock shared_guard_{sync::Rank::thread_heap};
    Heap *shared_ = nullptr;
};

} // namespace cairn
