// SPDX-License-Identifier: MIT
//
// Thread slots: a small number for each thread, for tables with an entry for every thread. It is not the number of a
// thread's heap (HeapRegistry), which the flagship uses.
//
// Adds:    thread_slot(), the calling thread's number: the lowest that no living thread has.
// Needs:   pthread keys, by which a thread's end becomes known.
// Keeps:   while a thread lives no other thread has its number. A thread gives its number back in the last round but
//          one of its keys' destructors. The next thread with that number gets the table entries with it, and sees
//          everything that the former thread did with them.
// Threads: any. No lock, so nothing to repair after a fork: the numbers of threads that the child does not have stay
//          taken in the child.
// Errors:  no_thread_slot when max_thread_slots threads live, when a thread's end could not be known, and for calls
//          of a thread after it has given its number back: there the C library frees the thread's own data, and
//          stacks.
// Cost:    a load. A walk over the taken numbers and some atomic operations when a thread starts and ends.
// Source:  STL's pthread_alloc as Hoard, section 6 describes it, needs such a number; the exact scheme is ours.
#pragma once

#include <cairn/platform/features.hpp>

#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>

#include <pthread.h>

namespace cairn {

inline constexpr unsigned max_thread_slots = 1u << 14;
inline constexpr unsigned no_thread_slot = max_thread_slots;

class ThreadSlots {
public:
    static unsigned mine() { return CAIRN_LIKELY(mine_ != unknown_) ? mine_ : take(); }

private:
    static constexpr unsigned bits_ = 64;
    static constexpr unsigned unknown_ = max_thread_slots + 1;

    CAIRN_COLD static unsigned take() {
        if (!have_key()) {
            return no_thread_slot;
        }
        const unsigned slot = lowest_free();
        mine_ = no_thread_slot; // while pthread_setspecific runs, which may allocate
        if (slot != no_thread_slot && pthread_setspecific(key_, &key_) != 0) {
            give(slot);
            mine_ = unknown_;
            return no_thread_slot;
        }
        return mine_ = slot;
    }

    static unsigned lowest_free() {
        for (unsigned word = 0; word < max_thread_slots / bits_; ++word) {
            // relaxed: a guess; the exchange below checks it.
            std::uint64_t seen = taken_[word].load(std::memory_order_relaxed);
            while (~seen != 0) {
                const auto bit = static_cast<unsigned>(std::countr_one(seen));
                // acquire: pairs with the release in give(): this thread sees what the number's last thread left.
                if (taken_[word].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit,
                                                       std::memory_order_acquire,
                                                       std::memory_order_relaxed)) {
                    return word * bits_ + bit;
                }
            }
        }
        return no_thread_slot;
    }

    static void give(unsigned slot) {
        // release: pairs with the acquire in lowest_free().
        taken_[slot / bits_].fetch_and(~(std::uint64_t{1} << slot % bits_), std::memory_order_release);
    }

    /// The destructor of the thread's key. Destructors of other keys may be called after it in each round, and
    /// allocate, so the number stays for more than one round. After it was given back the thread must get no other
    /// number, which would never be given back. In the last round ThreadSanitizer may have ended the thread for
    /// itself before this is called: hence the last but one.
    static void thread_ends(void *) {
        if (++rounds_ < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && pthread_setspecific(key_, &key_) == 0) {
            return;
        }
        const unsigned slot = mine_;
        mine_ = no_thread_slot;
        give(slot);
    }

    enum KeyState : int { no_key, making_key, usable_key, failed_key };

    /// Whether the key exists; the first thread makes it. A thread that is stopped while it makes the key does not
    /// hold up others: these go on without a number for now.
    static bool have_key() {
        int expected = no_key;
        // relaxed, both: one exchange succeeds, so one thread makes the key; the load below acquires.
        if (key_state_.load(std::memory_order_relaxed) == no_key &&
            key_state_.compare_exchange_strong(expected, making_key, std::memory_order_relaxed)) {
            const bool made = pthread_key_create(&key_, thread_ends) == 0;
            // release: pairs with the load below: `key_` is written.
            key_state_.store(made ? usable_key : failed_key, std::memory_order_release);
        }
        return key_state_.load(std::memory_order_acquire) == usable_key;
    }

    static inline thread_local constinit unsigned mine_ __attribute__((tls_model("initial-exec"))) = unknown_;
    static inline thread_local constinit int rounds_ __attribute__((tls_model("initial-exec"))) = 0;
    static inline constinit std::atomic<std::uint64_t> taken_[max_thread_slots / bits_] = {};
    static inline constinit std::atomic<int> key_state_{no_key};
    static inline constinit pthread_key_t key_{};
};

/// The calling thread's number, less than max_thread_slots, or no_thread_slot.
inline unsigned thread_slot() {
    return ThreadSlots::mine();
}

} // namespace cairn
