// SPDX-License-Identifier: MIT
//
// Routes: which level serves a size, and which one a freed pointer goes back to: the slow paths of an owner-routed heap.
//
// Adds:    getSize, remote frees, long blocks, trimming, the end of a thread, the repair after a fork.
// Needs:   PerThread and Levels; a `Hooks` that hears of threads, of growth and of free memory.
// Keeps:   a pointer that malloc did not return, or that is free already, stops the program with one line.
// Threads: any.
// Errors:  nullptr when out of memory, after all that lies free was tried; at once for what no memory could hold.
// Cost:    some tens of instructions; a remote free: one compare-exchange.
// Source:  Hoard, section 3: blocks return to the superblock they came from.
#pragma once

#include <cairn/thread/free_remote.hpp>
#include <cairn/thread/per_thread.hpp>

namespace cairn {

/// `Hooks::attached()` is called when a thread got its heap and returns whether its end will be known; `Hooks::returned()` when one frees
/// at a border whose absence was told (Attendance); `Hooks::grew()` when memory was taken from the operating system; `Hooks::surplus()`
/// when free memory lies about in quantity.
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

    /// The calling thread ends: its heap goes to the next one.
    void detach() {
        if (threads_.detach()) {
            handle_surplus();
        }
    }

    /// Gives free memory back to the operating system now. Bytes given back.
    std::size_t trim(std::size_t keep) {
        give_gathered();
        threads_.give_empty();
        levels_.retire_heaps();
        return levels_.trim(keep);
    }

    void set_surplus_limit(std::size_t bytes) { surplus_limit_.store(bytes, std::memory_order_relaxed); }
    std::size_t surplus_limit() const { return surplus_limit_.load(std::memory_order_relaxed); }

    /// In the child of a fork of a process in which other threads had heaps.
    void repair_after_fork() { levels_.repair_after_fork(threads_.reset_after_fork()); }

    void statistics(Statistics &out) { levels_.statistics(out); }
    Levels &levels() { return levels_; }

    static constexpr bool serves_from_superblock(std::size_t size, std::size_t alignment) {
        return alignment <= slot_size && (size > alignment ? size : alignment) <= Classes::largest;
    }

protected:
    using Found = superblock::Found;

    std::size_t size_of(const Found &found, const void *p, const char *what) {
        if (found.kind != Found::block) {
            return levels_.long_blocks().size_of(found, p);
        }
        superblock::check_live(found.line, p, what, levels_);
        return shared_of(found.line)->block_size;
    }

    void handle_growth() {
        if (CAIRN_UNLIKELY(levels_.after_growth(threads_.mine()))) {
            Hooks::grew();
        }
    }

    void handle_surplus() {
        if (levels_.has_surplus(surplus_limit(), threads_.mine()->holdings().number())) {
            Hooks::surplus();
        }
    }

    void *malloc_of_class(unsigned c) {
        void *p = threads_.malloc_class(c, Growth::after_visits);
        p = CAIRN_LIKELY(p != nullptr) ? p : malloc_after_visits(c);
        tell(threads_.mine()->give_next_gathered());
        handle_growth();
        return p;
    }

    CAIRN_COLD void *malloc_after_visits(unsigned c) {
        while (levels_.visit_wanted(threads_.mine())) {
            if (void *const p = threads_.malloc_class(c, Growth::after_visits)) {
                return p;
            }
        }
        void *const p = threads_.malloc_class(c, Growth::now);
        return p != nullptr || !give_up_caches() ? p : threads_.malloc_class(c, Growth::now);
    }

    CAIRN_INLINE void *malloc_long(std::size_t size, std::size_t alignment, bool &clean) { // false so far
        const unsigned who = threads_.mine()->holdings().number();
        void *const p = levels_.long_blocks().malloc_spare(size, alignment, who);
        const bool ends = CAIRN_LIKELY(p != nullptr) || levels_.long_blocks().is_beyond_all(size, alignment);
        return ends ? p : malloc_long_slow(size, alignment, clean, who);
    }
    CAIRN_NOINLINE void *malloc_long_slow(std::size_t size, std::size_t alignment, bool &clean,
                                          unsigned who) {
        if (levels_.would_grow(size, alignment) && threads_.free_bytes() > Discipline::bins_step) {
            threads_.give_empty(); // to pay with
        }
        void *p = levels_.long_blocks().malloc(size, alignment, clean, who);
        p = p != nullptr || !give_up_caches() ? p : levels_.long_blocks().malloc(size, alignment, clean);
        handle_growth();
        return p;
    }

    /// Out of memory: whether there is a point in trying again.
    CAIRN_COLD bool give_up_caches() {
        const bool mine = threads_.give_empty();
        levels_.retire_heaps();
        return levels_.give_up_caches() || mine;
    }

    /// Frees for `heap` what no quick look knew to be a live block, or to be still in its heap.
    CAIRN_NOINLINE void free_checked(void *p, Heap *heap) {
        OwnerLine *const s = superblock::superblock_at(address_of(p));
        if (s == nullptr) {
            return free_long(superblock::find_long(p, "free of"), p, heap);
        }
        superblock::check_live(s, p, "free of", levels_);
        free_of_others(s, address_of(p), heap);
    }

    CAIRN_NOINLINE void free_long(const Found &found, void *p, Heap *heap) {
        if (levels_.long_blocks().free(found, p, heap->holdings().number())) {
            handle_surplus();
        }
    }

    void free_of_others(OwnerLine *s, std::uintptr_t block, Heap *heap) {
        cairn::free_remote(*heap, s, block, Telling{*this});
    }
    struct Telling {
        Routes &routes;
        void operator()(const Gathering::Left &left) const { routes.tell(left); }
        void begun() const { note_return(routes.threads_.mine()->attendance); }
    };

    CAIRN_NOINLINE void check(Heap *heap, OwnerLine *s) {
        if (heap->check(s)) {
            handle_surplus();
            note_return(heap->attendance);
        }
    }
    static void note_return(Attendance &attendance) {
        if (attendance.take_missed()) {
            Hooks::returned();
        }
    }

    /// What the calling thread has gathered goes back.
    void give_gathered() {
        for (const Gathering::Left &left : threads_.mine()->give_gathered()) {
            tell(left);
        }
    }

    CAIRN_INLINE void tell(const Gathering::Left &left) {
        if (CAIRN_UNLIKELY(!left.is_done())) {
            tell_now(levels_.registry(), levels_.global(), left);
            handle_surplus();
            Hooks::returned(); // its owner may stay away
        }
    }

    Levels levels_;
    PerThread<Levels, Hooks> threads_{levels_};
    std::atomic<std::size_t> surplus_limit_{SIZE_MAX}; ///< relaxed: a hint, a number by itself
};

} // namespace cairn
