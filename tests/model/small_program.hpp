// SPDX-License-Identifier: MIT
//
// SmallProgram: two or three threads of a few atomic operations on two or three places, which a number decides.
// axioms.cpp runs it under the checker, and axioms.hpp says what C++20 lets come out.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn::model {

enum class Act : std::uint8_t {
    load,
    store,
    exchange,
    add,
    exchange_if, ///< compare_exchange_strong
    fence,
    membarrier
};

struct Operation {
    Act act = Act::load;
    unsigned place = 0;
    std::memory_order order = std::memory_order_relaxed;
    std::memory_order failure = std::memory_order_relaxed; ///< of a compare-exchange
    int value = 0;                                         ///< to store or to add
    int expected = 0;
};

inline bool loads(Act act) {
    return act == Act::load || act == Act::exchange || act == Act::add || act == Act::exchange_if;
}

struct SmallProgram {
    static constexpr unsigned most_threads = 3;
    static constexpr unsigned most_operations = 4; ///< of a thread
    static constexpr unsigned most_places = 3;
    /// What each operation has read, 0 where it reads nothing; then what the places have in the end.
    static constexpr unsigned results = most_threads * most_operations + most_places;

    unsigned threads = 0;
    unsigned places = 2;
    unsigned length[most_threads] = {};
    Operation operations[most_threads][most_operations];

    /// The programs of seed 1 find two mistakes that the checker had, each by one of the first 250: a load that was
    /// taken for able to go before the store that it reads, and a membarrier that came to the threads in the order of
    /// their numbers.
    static constexpr std::uint64_t salt = 15;

    static constexpr unsigned threads_of(unsigned number) { return number % 4 == 0 ? 2 : 3; }
    /// Whether stores may come before others in the order of modification (Options::insert).
    static constexpr bool inserts(unsigned number) { return number / 4 % 2 == 1; }

    /// Of four programs one has two threads; of those with three one has no membarrier, one has it among all
    /// operations, and one among loads and stores that are mostly relaxed. None has more than one call of it.
    SmallProgram(std::uint64_t seed, unsigned number) : threads(threads_of(number)) {
        Dice dice((seed + salt) << 32 | number);
        const unsigned kind = number % 4;
        places = kind == 3 || dice.draw(4) == 0 ? 3 : 2;
        const bool fenced = kind >= 2 || (kind == 0 && dice.draw(2) == 0);
        const unsigned who = fenced ? dice.draw(threads) : threads;
        for (unsigned i = 0; i < threads; ++i) {
            length[i] = (threads == 2 ? 3 : 2) + dice.draw(2);
            for (unsigned k = 0; k < length[i]; ++k) {
                Operation &o = operations[i][k];
                o = kind == 3 ? plain(dice) : any(dice);
                o.place = dice.draw(places);
                o.value = o.act == Act::add ? 16 : stored(i, k);
                const unsigned another =
                    dice.draw(threads); // one draw a line: the order of arguments is the compiler's
                o.expected = dice.draw(2) == 0 ? 0 : stored(another, dice.draw(2));
            }
            if (i == who) {
                operations[i][1 + dice.draw(length[i] - 1)].act = Act::membarrier;
            }
        }
    }

private:
    class Dice {
    public:
        explicit Dice(std::uint64_t seed) : state_(seed) {}
        unsigned draw(unsigned below) { // splitmix64
            std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
            x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
            x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
            return static_cast<unsigned>((x ^ (x >> 31)) >> 32) % below;
        }
        std::memory_order one_of(std::memory_order a, std::memory_order b, std::memory_order c,
                                 std::memory_order d) {
            const std::memory_order all[] = {a, b, c, d};
            return all[draw(4)];
        }

    private:
        std::uint64_t state_;
    };

    /// Each store has a value of its own.
    static int stored(unsigned thread, unsigned k) {
        return static_cast<int>(1 + thread * most_operations + k);
    }

    static Operation plain(Dice &dice) {
        const bool is_load = dice.draw(2) == 0;
        const bool ordered = dice.draw(4) == 0;
        Operation o;
        o.act = is_load ? Act::load : Act::store;
        o.order = !ordered  ? std::memory_order_relaxed
                  : is_load ? std::memory_order_acquire
                            : std::memory_order_release;
        return o;
    }
    static Operation any(Dice &dice) {
        using enum std::memory_order;
        Operation o;
        const unsigned face = dice.draw(16);
        if (face < 5) {
            o.act = Act::load;
            o.order = dice.one_of(relaxed, relaxed, acquire, seq_cst);
        } else if (face < 10) {
            o.act = Act::store;
            o.order = dice.one_of(relaxed, relaxed, release, seq_cst);
        } else if (face < 13) {
            o.act = face == 10 ? Act::exchange : face == 11 ? Act::add : Act::exchange_if;
            o.order = dice.draw(5) == 0 ? relaxed : dice.one_of(acquire, release, acq_rel, seq_cst);
            o.failure = dice.one_of(relaxed, relaxed, acquire, seq_cst);
        } else {
            o.act = Act::fence;
            o.order = dice.draw(2) == 0 ? seq_cst : dice.one_of(acquire, release, acq_rel, seq_cst);
        }
        return o;
    }
};

} // namespace cairn::model
