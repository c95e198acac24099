// SPDX-License-Identifier: MIT
//
// Routes: which level serves a size, and which level has a block: the slow paths of an owner-routed heap, but for
// those of free (freeing.hpp).
//
// Adds:    getSize, the slow paths of malloc, trimming, the end of a thread, the repair after a fork.
// Needs:   PerThread and Levels; `Hooks`, which is called when a thread gets a heap, when memory grows, and when much
//          memory is free.
// Keeps:   a pointer that malloc did not return, or whose block is free already, ends the program with one line.
// Threads: any.
// Errors:  nullptr when out of memory, after all free memory was tried; at once for a size that no memory could hold.
// Cost:    some tens of instructions.
// Source:  Hoard, section 3: blocks return to the superblock they came from.
#pragma once

#include <cairn/thread/free_remote.hpp>
#include <cairn/thread/per_thread.hpp>

namespace cairn {

/// `Hooks::attached()`: a thread has got its heap; returns whether the thread's end will be known.
/// `Hooks::returned()`: a thread whose absence was reported (Attendance) has checked a superblock, or a notice was
/// delivered to a heap whose thread may be absent. `Hooks::grew()`: memory was taken from the operating system.
/// `Hooks::surplus()`: free resident memory exceeds the surplus limit.
template <class Classes, class Discipline, class Hooks>
class Routes {
public:
    using SizeClasses = Classes;
    using Emptiness = Discipline;
    using Levels = cairn::Levels<Classes, Discipline>;
    using Heap = typename Levels::Heap;

    constexpr Routes() = default;

    /// Usable bytes of a live block.
    std::size_t getSize(const void *p) {
        const OwnerLine *const quick = superblock::quick_find(address_of(p));
        return CAIRN_LIKELY(quick != nullptr)
                   ? shared_of(quick)->block_size
                   : size_of(superblock::find(p, "size asked of"), p, "size asked of");
    }

    /// The calling thread ends: another thread gets its heap.
    void detach() {
        if (threads_.detach()) {
            handle_surplus();
        }
    }

    /// Gives free memory back to the operating system, all but `keep` bytes. Returns how much.
    std::size_t trim(std::size_t keep) {
        give_gathered();
        threads_.give_empty();
        retire_heaps();
        return levels_.trim(keep);
    }

    /// Free resident memory beyond this limit is a surplus.
    void set_surplus_limit(std::size_t bytes) { surplus_limit_.store(bytes, std::memory_order_relaxed); }
    std::size_t surplus_limit() const { return surplus_limit_.load(std::memory_order_relaxed); }

    /// In the child of a fork of a process in which other threads had heaps.
    void repair_after_fork() { levels_.repair_after_fork(threads_.reset_after_fork()); }

    void statistics(Statistics &out) { levels_.statistics(out); }
    Levels &levels() { return levels_; }

    /// Whether a block of this size and alignment is in a superblock.
    static constexpr bool serves_from_superblock(std::size_t size, std::size_t alignment) {
        return alignment <= slot_size && (size > alignment ? size : alignment) <= Classes::largest;
    }

protected:
    using Found = superblock::Found;

    /// Usable bytes of the block that find() has found at `p`. Ends the program unless the block is live.
    std::size_t size_of(const Found &found, const void *p, const char *what) {
        if (found.kind != Found::block) {
            return levels_.long_blocks().size_of(found, p);
        }
        superblock::check_live(found.line, p, what, levels_);
        return shared_of(found.line)->block_size;
    }

    /// To call when memory may have been taken: visits heaps and purges where it was, and tells the process.
    void handle_growth() {
        if (CAIRN_UNLIKELY(levels_.after_growth(threads_.mine()))) {
            Hooks::grew();
        }
    }

    /// To call when memory was freed: tells the process where free memory exceeds the surplus limit.
    void handle_surplus() {
        if (levels_.has_surplus(surplus_limit(), threads_.mine()->holdings().number())) {
            Hooks::surplus();
        }
    }

    /// A block of a size class, by the slow path; nullptr when out of memory.
    void *malloc_of_class(unsigned c) {
        void *p = threads_.malloc_class(c, Growth::after_visits);
        p = CAIRN_LIKELY(p != nullptr) ? p : malloc_after_visits(c);
        if (CAIRN_LIKELY(threads_.attached())) { // else mine() is a placeholder that other threads use, too
            tell(threads_.mine()->give_next_gathered());
        }
        handle_growth();
        return p;
    }

    /// Visits heaps until there is a block; then takes fresh memory; then gives up all caches and tries once more.
    CAIRN_COLD void *malloc_after_visits(unsigned c) {
        while (levels_.visit_wanted(threads_.mine())) {
            if (void *const p = threads_.malloc_class(c, Growth::after_visits)) {
                return p;
            }
        }
        void *const p = threads_.malloc_class(c, Growth::now);
        return p != nullptr || !give_up_caches() ? p : threads_.malloc_class(c, Growth::now);
    }

    /// A large or huge block. Sets `clean`, which is false, if the block reads as zero.
    CAIRN_INLINE void *malloc_long(std::size_t size, std::size_t alignment, bool &clean) {
        const unsigned heap_number = threads_.mine()->holdings().number();
        void *const p = levels_.long_blocks().malloc_spare(size, alignment, heap_number);
        const bool ends = CAIRN_LIKELY(p != nullptr) || levels_.long_blocks().is_beyond_all(size, alignment);
        return ends ? p : malloc_long_slow(size, alignment, clean, heap_number);
    }
    CAIRN_NOINLINE void *malloc_long_slow(std::size_t size, std::size_t alignment, bool &clean,
                                          unsigned heap_number) {
        auto &long_blocks = levels_.long_blocks();
        void *p = long_blocks.malloc_used(size, alignment, heap_number);
        if (p == nullptr) {
            if (levels_.would_grow(size, alignment) && threads_.free_bytes() > Discipline::bins_step) {
                threads_.give_empty(); // its dirty memory offsets the growth
            }
            p = long_blocks.malloc(size, alignment, clean, heap_number);
        }
        p = p != nullptr || !give_up_caches() ? p : long_blocks.malloc(size, alignment, clean);
        handle_growth();
        return p;
    }

    /// Out of memory: gives up everything that is free. Whether another attempt may succeed.
    CAIRN_COLD bool give_up_caches() {
        const bool mine = threads_.give_empty();
        retire_heaps();
        return levels_.give_up_caches() || mine;
    }

    void retire_heaps() {
        if (!levels_.retire_heaps()) {
            Hooks::returned();
        }
    }

    /// Gives back all chains that the calling thread has gathered.
    void give_gathered() {
        if (!threads_.attached()) {
            return;
        }
        for (const Gathering::Left &left : threads_.mine()->give_gathered()) {
            tell(left);
        }
    }

    /// Delivers the notice that a remote free has left, if any.
    CAIRN_INLINE void tell(const Gathering::Left &left) {
        if (CAIRN_UNLIKELY(!left.is_done())) {
            tell_now(levels_.registry(), levels_.global(), left);
            handle_surplus();
            Hooks::returned(); // the owner may be absent: the purger is to look
        }
    }

    Levels levels_;
    PerThread<Levels, Hooks> threads_{levels_};
    std::atomic<std::size_t> surplus_limit_{SIZE_MAX}; ///< relaxed: a hint, a number by itself
};

} // namespace cairn
