// SPDX-License-Identifier: MIT
//
// What a string of bytes means as work for a malloc, and the reference model that the answers are held against: a table
// of blocks, each with contents of its own, up to the last usable byte, and an extent that is nobody else's. Whatever
// the bytes are, the work is allowed; a wrong answer stops the program.
//
// The first byte chooses the mode: one thread; three threads in turns, as each operation says; three threads at once,
// each with a third of the table, that pass blocks on. Each further operation has four bytes: what, which block, and
// two of size.
#pragma once

#include "edges.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <thread>

namespace cairn::fuzz {

#define FUZZ_CHECK(condition) ((condition) ? void() : ::cairn::fuzz::failed(__FILE__, __LINE__, #condition))

[[noreturn]] inline void failed(const char *file, int line, const char *condition) {
    std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    std::abort();
}

/// The same size, about which the compiler may not warn.
inline std::size_t hidden(std::size_t size) {
    asm volatile("" : "+r"(size));
    return size;
}

/// Target: static malloc, malloc_zeroed, reallocate, memalign, free, usable_size, trim(keep).
template <class Target>
class Work {
public:
    static void run(const std::uint8_t *data, std::size_t size) {
        static Work work;
        if (size < 5) {
            return;
        }
        work.data_ = data + 1;
        work.count_ = (size - 1) / 4;
        switch (data[0] % 4) {
        case 0:
        case 1:
            work.part(0, 1, false);
            break;
        case 2:
            work.in_threads(true);
            break;
        default:
            work.in_threads(false);
        }
        for (Block &block : work.blocks_) {
            work.put(block);
        }
        for (std::atomic<Block *> &place : work.passed_) {
            if (Block *const block = place.exchange(nullptr)) {
                work.put(*block);
                delete block;
            }
        }
    }

private:
    struct Block {
        unsigned char *p = nullptr;
        std::size_t size = 0;
        std::size_t room = 0; ///< usable bytes
        unsigned char seed = 0;

        bool has_more() const { return room > size; }
        unsigned char last_of_room() const { return static_cast<unsigned char>(seed ^ 0x5a); }
    };
    static constexpr unsigned threads_ = 3;
    static constexpr unsigned places_ = 96;
    static constexpr std::size_t most_live_ = std::size_t{96} << 20;
    static constexpr std::size_t no_size_ = std::size_t{1} << 48; ///< more than all addresses of a program

    static constexpr std::size_t step(std::size_t i) { return i < 256 ? 1 : i < 65536 ? 4096 : 65536; }

    /// The beginning, some bytes further on, the end.
    template <class F>
    static void each(const Block &block, std::size_t end, F f) {
        for (std::size_t i = 0; i < end; i += step(i)) {
            f(block.p[i], static_cast<unsigned char>(block.seed + i));
        }
        if (block.size != 0 && end == block.size) {
            f(block.p[block.size - 1], static_cast<unsigned char>(~block.seed));
        }
    }
    static void fill(Block &block) {
        each(block, block.size, [](unsigned char &at, unsigned char value) { at = value; });
        if (block.has_more()) {
            block.p[block.room - 1] = block.last_of_room();
        }
    }
    static void check(const Block &block, std::size_t end) {
        const std::size_t last = block.size - 1; // has a value of its own
        for (std::size_t i = 0; i < end && i < last; i += step(i)) {
            FUZZ_CHECK(block.p[i] == static_cast<unsigned char>(block.seed + i));
        }
        FUZZ_CHECK(end <= last || block.p[last] == static_cast<unsigned char>(~block.seed));
    }
    static void check(const Block &block) {
        check(block, block.size);
        FUZZ_CHECK(!block.has_more() || block.p[block.room - 1] == block.last_of_room());
    }

    bool granted(Block &block, void *p, std::size_t size, std::size_t alignment) {
        if (p == nullptr) {
            live_ -= size;
            block = {};
            return false;
        }
        FUZZ_CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
        block = {static_cast<unsigned char *>(p), size, Target::usable_size(p),
                 static_cast<unsigned char>(++seed_)};
        FUZZ_CHECK(block.room >= size);
        FUZZ_CHECK(extents_.add(p, block.room));
        return true;
    }

    void put(Block &block) {
        if (block.p != nullptr) {
            check(block);
            live_ -= block.size;
            freed_ = block.size;
            FUZZ_CHECK(extents_.remove(block.p));
            Target::free(block.p, block.seed);
            block = {};
        }
    }

    bool room_for(std::size_t more) {
        if ((live_ += more) > most_live_) {
            live_ -= more;
            return false;
        }
        return true;
    }

    void allocate(Block &block, std::size_t size) {
        put(block);
        if (room_for(size) && granted(block, Target::malloc(hidden(size)), size, size < 16 ? 8 : 16)) {
            fill(block);
        }
    }

    void allocate_zeroed(Block &block, std::size_t size) {
        put(block);
        if (room_for(size) && granted(block, Target::malloc_zeroed(hidden(size)), size, size < 16 ? 8 : 16)) {
            for (std::size_t i = 0; i < size; i += step(i)) {
                FUZZ_CHECK(block.p[i] == 0);
            }
            FUZZ_CHECK(size == 0 || block.p[size - 1] == 0);
            fill(block);
        }
    }

    void allocate_aligned(Block &block, std::size_t alignment, std::size_t size) {
        put(block);
        if (room_for(size) &&
            granted(block, Target::memalign(hidden(alignment), hidden(size)), size, alignment)) {
            fill(block);
            if (block.room > most_live_) { // an alignment beyond all sizes here: nobody is to copy that
                put(block);
            }
        }
    }

    void reallocate(Block &block, std::size_t size) {
        if (block.p == nullptr || size == 0 || !room_for(size)) {
            return;
        }
        check(block);
        FUZZ_CHECK(extents_.remove(block.p));
        void *const to = Target::reallocate(block.p, hidden(size));
        if (to == nullptr) {
            live_ -= size;
            kept(block);
        } else {
            const Block before = block;
            live_ -= block.size;
            block.p = static_cast<unsigned char *>(to);
            check(block, before.size < size ? before.size : size);
            granted(block, to, size, size < 16 ? 8 : 16);
            fill(block);
        }
    }

    /// What a realloc that failed has left.
    void kept(Block &block) {
        FUZZ_CHECK(extents_.add(block.p, block.room));
        FUZZ_CHECK(Target::usable_size(block.p) >= block.room);
        check(block);
    }

    /// A block that is longer than all that may be touched.
    void is_as_long(void *p, std::size_t size) {
        FUZZ_CHECK(size < no_size_);
        const std::size_t room = Target::usable_size(p);
        FUZZ_CHECK(room >= size);
        FUZZ_CHECK(extents_.add(p, room));
        auto *const bytes = static_cast<volatile unsigned char *>(p);
        bytes[0] = 1;
        bytes[size - 1] = 2;
        FUZZ_CHECK(extents_.remove(p));
        Target::free(p, ++seed_);
    }

    void reallocate_beyond(Block &block, std::size_t size) {
        if (block.p == nullptr) {
            return;
        }
        check(block);
        FUZZ_CHECK(extents_.remove(block.p));
        void *const to = Target::reallocate(block.p, hidden(size));
        if (to == nullptr) {
            kept(block);
        } else {
            Block moved = block;
            moved.p = static_cast<unsigned char *>(to);
            check(moved, moved.size);
            live_ -= block.size;
            block = {};
            is_as_long(to, size);
        }
    }

    /// The same operations with sizes and alignments at an edge.
    void at_edge(Block &block, const std::uint8_t *op) {
        const unsigned which = op[2] % 16;
        const auto off = static_cast<std::uint8_t>(op[2] / 16);
        const std::size_t size = which == 14 ? block.room / (1 + op[3] % 2) + edge_from(0, off, 0) - 1
                                             : edge_from(op[3], off, freed_);
        const std::size_t alignment = std::size_t{1} << (op[0] / 16 * 4 + which % 4);
        if (which == 15) {
            Target::trim(size);
        } else if (size <= most_live_) {
            which < 3   ? allocate(block, size)
            : which < 5 ? allocate_zeroed(block, size)
            : which < 9 ? allocate_aligned(block, alignment, size)
                        : reallocate(block, size);
        } else if (which < 3) {
            if (void *const p = Target::malloc(hidden(size))) {
                is_as_long(p, size);
            }
        } else if (which < 5) { // not where somebody might have to clear it
            FUZZ_CHECK(size < no_size_ || Target::malloc_zeroed(hidden(size)) == nullptr);
        } else if (which < 9) {
            if (void *const p = Target::memalign(hidden(alignment), hidden(size))) {
                FUZZ_CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
                is_as_long(p, size);
            }
        } else {
            reallocate_beyond(block, size);
        }
    }

    static std::size_t size_from(std::uint8_t how, std::uint8_t a, std::uint8_t b) {
        switch (how % 4) {
        case 0:
            return 1u + a;
        case 1:
            return 1u + a + 256u * (b % 16);
        case 2:
            return 1u + a + 256u * b;
        default: // around a power of two, up to 32 MiB
            return (std::size_t{1} << (5 + a % 21)) + b % 32 - 16;
        }
    }

    void one(const std::uint8_t *op, unsigned part, unsigned parts) {
        const unsigned share = places_ / parts;
        Block &block = blocks_[part * share + op[1] % share];
        const std::size_t size = size_from(static_cast<std::uint8_t>(op[1] >> 6), op[2], op[3]);
        switch (op[0] % 16) {
        case 0:
        case 1:
        case 2:
        case 3:
            allocate(block, size);
            break;
        case 4:
        case 5:
            allocate_zeroed(block, size);
            break;
        case 6:
        case 7:
            allocate_aligned(block, std::size_t{1} << (3 + op[3] % 18), size);
            break;
        case 8:
        case 9:
            reallocate(block, size);
            break;
        case 10: { // passed on: some other thread frees it, or the end
            if (block.p != nullptr) {
                Block *const mine = new Block(block);
                block = {};
                if (Block *const theirs = passed_[op[2] % 16].exchange(mine)) {
                    put(*theirs);
                    delete theirs;
                }
            }
            break;
        }
        case 11:
            FUZZ_CHECK(Target::malloc(hidden(SIZE_MAX - op[2])) == nullptr);
            FUZZ_CHECK(Target::memalign(64, hidden(SIZE_MAX / 2 + 1 + op[2])) == nullptr);
            FUZZ_CHECK(block.p == nullptr ||
                       Target::reallocate(block.p, hidden(SIZE_MAX - op[3])) == nullptr);
            break;
        case 12:
            op[2] % 16 == 0 ? Target::trim(0) : at_edge(block, op);
            break;
        default:
            put(block);
        }
    }

    void part(unsigned part, unsigned parts, bool in_turns) {
        for (std::size_t i = 0; i < count_; ++i) {
            const std::uint8_t *const op = data_ + 4 * i;
            if (parts == 1) {
                one(op, 0, 1);
            } else if (op[0] / 16 % threads_ == part) {
                if (in_turns) { // all may use the whole table
                    std::unique_lock hold(turn_);
                    next_.wait(hold, [&] { return done_ == i; });
                    one(op, 0, 1);
                } else {
                    one(op, part, threads_);
                }
            } else {
                continue;
            }
            if (in_turns) {
                const std::lock_guard hold(turn_);
                done_ = i + 1;
                next_.notify_all();
            }
        }
    }

    void in_threads(bool in_turns) {
        done_ = 0;
        Target::trim(0); // where address space is limited, their stacks need some
        std::thread others[threads_ - 1];
        std::latch all_there(threads_);
        for (unsigned i = 1; i < threads_; ++i) {
            others[i - 1] = std::thread([=, this, &all_there] {
                all_there.arrive_and_wait();
                part(i, threads_, in_turns);
            });
        }
        all_there.arrive_and_wait();
        part(0, threads_, in_turns);
        for (std::thread &other : others) {
            other.join();
        }
    }

    const std::uint8_t *data_ = nullptr;
    std::size_t count_ = 0;
    Block blocks_[places_];
    std::atomic<Block *> passed_[16]{};
    std::atomic<std::size_t> live_{0};
    std::atomic<unsigned> seed_{0};
    std::atomic<std::size_t> freed_{0}; ///< the size of what was freed last
    Extents extents_;
    std::mutex turn_;
    std::condition_variable next_;
    std::size_t done_ = 0;
};

} // namespace cairn::fuzz
