// SPDX-License-Identifier: MIT
//
// Double word: an atomic value of 16 bytes.
//
// Adds:    AtomicDoubleWord: compare_exchange of both halves, load of both, load of one.
// Needs:   cmpxchg16b on x86-64 (all but the first processors of 2003 have it), ldaxp and stlxp on aarch64. Written in
//          assembly because compilers call libatomic for 16 bytes, and a malloc cannot depend on that library.
// Threads: any. compare_exchange and load are full barriers: sequentially consistent with the seq_cst operations
//          of <atomic>. One half is read by itself, as an ordinary atomic word.
// Cost:    a locked instruction; `load` too is one and takes the line for writing. A half is a plain load.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn::platform {

struct DoubleWord {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend constexpr bool operator==(const DoubleWord &, const DoubleWord &) = default;
};

class AtomicDoubleWord {
public:
    constexpr AtomicDoubleWord() = default;

    /// Sets both halves while no other thread knows the object. relaxed: the store that makes the object known to other
    /// threads orders these.
    void set_alone(DoubleWord value) {
        low_.store(value.low, std::memory_order_relaxed);
        high_.store(value.high, std::memory_order_relaxed);
    }

    /// One half; two calls may return halves of two values. low(): seq_cst, pairs with compare_exchange(). high():
    /// relaxed, for a caller that has read low() before: both halves change at once, so the value read is no older than
    /// that of low().
    std::uint64_t low() const { return low_.load(std::memory_order_seq_cst); }
    std::uint64_t high() const { return high_.load(std::memory_order_relaxed); }

    /// Both halves of one value: a compare_exchange() that changes nothing, whatever it finds.
    DoubleWord load() {
        DoubleWord seen{};
        compare_exchange(seen, seen);
        return seen;
    }

    /// True: the value was `expected` and is now `desired`. False: `expected` is set to the value found.
    bool compare_exchange(DoubleWord &expected, DoubleWord desired) {
#if defined(__x86_64__)
        bool done = false;
        asm volatile("lock cmpxchg16b %[word]"
                     : "=@ccz"(done), [word] "+m"(*this), "+a"(expected.low), "+d"(expected.high)
                     : "b"(desired.low), "c"(desired.high)
                     : "memory");
        return done;
#elif defined(__aarch64__)
        // The two loaded halves belong to one value only if the store after the load succeeds: so a value that differs
        // from `expected` is stored back.
        DoubleWord seen;
        std::uint32_t failed;
        asm volatile(
            "1: ldaxp %[low], %[high], %[word]\n"
            "   cmp %[low], %[expected_low]\n"
            "   ccmp %[high], %[expected_high], #0, eq\n"
            "   b.ne 2f\n"
            "   stlxp %w[failed], %[desired_low], %[desired_high], %[word]\n"
            "   cbnz %w[failed], 1b\n"
            "   b 3f\n"
            "2: stlxp %w[failed], %[low], %[high], %[word]\n"
            "   cbnz %w[failed], 1b\n"
            "3: dmb ish"
            : [word] "+Q"(*this), [low] "=&r"(seen.low), [high] "=&r"(seen.high), [failed] "=&r"(failed)
            : [expected_low] "r"(expected.low), [expected_high] "r"(expected.high),
              [desired_low] "r"(desired.low), [desired_high] "r"(desired.high)
            : "memory", "cc");
        const bool done = seen == expected;
        expected = seen;
        return done;
#endif
    }

private:
    alignas(16) std::atomic<std::uint64_t> low_{0};
    std::atomic<std::uint64_t> high_{0};
};
static_assert(sizeof(AtomicDoubleWord) == 16 && alignof(AtomicDoubleWord) == 16);

} // namespace cairn::platform
