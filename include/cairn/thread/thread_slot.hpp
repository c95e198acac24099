// SPDX-License-Identifier: MIT
//
// Thread slots: a small number for each thread, for tables with an entry for every thread. It is not the number of a
// thread's heap (HeapRegistry), which the flagship uses.
//
// Adds:    thread_slot(), the calling thread's number: the lowest that no living thread has.
// Needs:   pthread keys, by which a thread's end becomes known. A library with this code must not be unloaded
//          (-z nodelete): a thread that ends would call what is gone.
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
        if (slot != no_thread_slot && !set_key()) {
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
        if (++rounds_ < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && set_key()) {
            return;
        }
        const unsigned slot = mine_;
        mine_ = no_thread_slot;
        give(slot);
    }

    /// States of the key; a larger one is first_key_ and the key.
    static constexpr std::uint64_t no_key_ = 0, failed_key_ = 1, first_key_ = 2;

    /// Whether the key exists. Threads that find none make one each; the first one is used, the others are deleted. So
    /// no thread waits for one that is stopped here, or that the child of a fork does not have.
    static bool have_key() {
        // acquire, here and where the exchange fails: pairs with the exchange of the thread that made the key.
        std::uint64_t state = key_state_.load(std::memory_order_acquire);
        if (state == no_key_) {
            pthread_key_t mine{};
            const std::uint64_t made =
                pthread_key_create(&mine, thread_ends) == 0 ? first_key_ + mine : failed_key_;
            // release: the other threads see what pthread_key_create() wrote.
            if (key_state_.compare_exchange_strong(state, made, std::memory_order_release,
                                                   std::memory_order_acquire)) {
                state = made;
            } else if (made != failed_key_) {
                pthread_key_delete(mine);
            }
        }
        return state >= first_key_;
    }

    /// Has the thread's end known. relaxed: the thread has called have_key().
    static bool set_key() {
        const std::uint64_t state = key_state_.load(std::memory_order_relaxed);
        return pthread_setspecific(static_cast<pthread_key_t>(state - first_key_), &key_state_) == 0;
    }

    static inline thread_local constinit unsigned mine_ __attribute__((tls_model("initial-exec"))) = unknown_;
    static inline thread_local constinit int rounds_ __attribute__((tls_model("initial-exec"))) = 0;
    static inline constinit std::atomic<std::uint64_t> taken_[max_thread_slots / bits_] = {};
    static inline constinit std::atomic<std::uint64_t> key_state_{no_key_};
};

/// The calling thread's number, less than max_thread_slots, or no_thread_slot.
inline unsigned thread_slot() {
    return ThreadSlots::mine();
}

} // namespace cairn
