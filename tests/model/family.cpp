// SPDX-License-Identifier: MIT
//
// The family's protocols but for NBmalloc's: LKmalloc's coalescing, Hoard's second look at a superblock's owner,
// arenas.
#include "model.hpp"

#include <allocators/hoard.hpp>
#include <allocators/lkmalloc.hpp>

#include <cairn/family/arenas.hpp>

using namespace cairn;

namespace {

// ---- addresses that come again

/// One gives a long block back, the other one gets its addresses.
struct LkLong {
    lkmalloc::Mappings<64_KiB> mappings;
    char *p = mappings.new_long(1, 16);
    bool again = false;
    void thread(unsigned i) {
        if (i == 0) {
            *p = 1;
            mappings.return_long(p);
            return;
        }
        char *const q = mappings.new_long(1, 16);
        again = q == p;
        *q = 2;
    }
    void finish() { model::outcome(again ? "again" : "others"); }
};
const model::Kernel<LkLong, 2> lk_long("lkmalloc.long", {.reuses = true, .outcomes = "again, others"});

// ---- LKmalloc

struct LkSmallest {
    static constexpr std::size_t alignment = 16;
    static constexpr unsigned bins = 16;
    using List = lkmalloc::LastFreedFirst;
    static constexpr unsigned spins = 2;
    static constexpr std::size_t stripe = 64_KiB;
    static constexpr std::size_t decommit_over_pages = 1000;
    static constexpr std::size_t kept_stripes = 1;
};

struct Lk {
    using Heap = lkmalloc::Subheap<LkSmallest>;
    Heap heap;
    Heap::Stripes stripes;
    char *blocks[6] = {};

    Lk() { // three neighbours, between blocks that stay
        for (unsigned i = 0; i < 5; ++i) {
            malloc(i);
        }
        model::name(blocks[1] - lkmalloc::tag_bytes, "header of 1");
        model::name(blocks[1] - lkmalloc::tags_bytes, "footer before 1");
        model::name(blocks[2] - lkmalloc::tag_bytes, "header of 2");
        model::name(blocks[2] - lkmalloc::tags_bytes, "footer of 1");
        model::name(blocks[3] - lkmalloc::tag_bytes, "header of 3");
        model::name(blocks[3] - lkmalloc::tags_bytes, "footer of 2");
    }
    /// Each of another list, so of another lock.
    static constexpr std::size_t size_of(unsigned i) { return 48 + 16 * std::size_t{i}; }
    void malloc(unsigned i) {
        blocks[i] = heap.malloc(size_of(i), stripes, 0);
        model::check(blocks[i] != nullptr, "no memory");
        blocks[i][20] += 1; // as its program does
    }
    void free(unsigned i) {
        blocks[i][20] += 1;
        char *const p = blocks[i];
        blocks[i] = nullptr;
        heap.free(p, stripes, 0);
    }
    /// When no thread is inside, no two neighbours are free, and a list has what its tags say.
    void finish() {
        const char *ends[8] = {};
        const char *starts[8] = {};
        std::size_t bytes = 0;
        unsigned n = 0;
        heap.lists().for_each([&](const char *start, std::size_t length) {
            model::check(n < 8, "too many free blocks");
            starts[n] = start;
            ends[n++] = start + length;
            bytes += length;
            model::check(lkmalloc::header_of(start) == lkmalloc::Tag(length, lkmalloc::State::free) &&
                             lkmalloc::footer_before(start + length) == lkmalloc::header_of(start),
                         "the tags of a free block are wrong");
        });
        for (unsigned i = 0; i < n; ++i) {
            for (unsigned k = 0; k < n; ++k) {
                model::check(ends[i] != starts[k], "two neighbours are free, and not one block");
            }
        }
        std::size_t live = 0;
        for (unsigned i = 0; i < 6; ++i) {
            live += blocks[i] != nullptr ? lkmalloc::header_of(blocks[i]).size() : 0;
            for (unsigned k = i + 1; k < 6; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
        model::check(bytes + live == Heap::largest * heap.stripes(), "bytes are lost");
    }
};
struct LkNeighbours : Lk {
    void thread(unsigned i) { free(1 + i); }
};
struct LkBothSides : Lk {
    LkBothSides() { free(2); }
    void thread(unsigned i) { free(i == 0 ? 1 : 3); }
};
struct LkFreeMalloc : Lk {
    LkFreeMalloc() { free(2); }
    void thread(unsigned i) {
        if (i == 0) {
            free(1);
        } else {
            malloc(5);
        }
    }
};
const model::Kernel<LkNeighbours, 2> lk_neighbours("lkmalloc.neighbours", model::capped(2'000));
const model::Kernel<LkBothSides, 2> lk_sides("lkmalloc.both_sides", model::capped(2'000));
const model::Kernel<LkFreeMalloc, 2> lk_malloc("lkmalloc.free_malloc", model::capped(2'000));
const model::Kernel<LkNeighbours, 3> lk_three("lkmalloc.three", model::capped(2'000));

/// Who has which stripe: entered by any thread, walked by any other.
template <bool Walk>
struct LkStripes {
    static constexpr std::size_t stripe = std::size_t{1} << (platform::address_bits - 6);
    lkmalloc::StripeTable<stripe> table;
    int contents[3] = {};

    void thread(unsigned i) {
        if (Walk && i == 1) {
            table.for_each([&](char *, unsigned owner) {
                model::check(contents[owner - 1] == 1, "a stripe that is not made");
            });
            return;
        }
        contents[i] = 1;
        model::check(table.set(reinterpret_cast<char *>(i * stripe), static_cast<std::uint8_t>(i + 1)),
                     "no memory");
    }
};
/// With a table that has a stripe already.
struct LkStripesMore : LkStripes<true> {
    LkStripesMore() {
        contents[2] = 1;
        table.set(reinterpret_cast<char *>(2 * stripe), 3);
    }
};
const model::Kernel<LkStripes<false>, 2> lk_enter("lkmalloc.stripes.enter");
const model::Kernel<LkStripes<true>, 2> lk_walk("lkmalloc.stripes.walk");
const model::Kernel<LkStripesMore, 2> lk_walk_more("lkmalloc.stripes.walk_more");

// ---- Hoard

struct HoardSmallest : HoardParameters {
    static constexpr std::size_t superblock = 4_KiB;
    static constexpr std::size_t slack = 1;
    static constexpr unsigned heaps_per_processor = 4;
    static constexpr std::size_t chunk = 32_KiB;
    static unsigned processors() { return 1; }
};

/// Three superblocks of a thread's heap; a free brings it to give the emptiest away, while another thread frees in that
/// one.
template <bool Malloc>
struct HoardOwnerMoves {
    using Heap = Hoard<HoardSmallest>;
    static constexpr std::size_t size = 1000;
    Heap heap;
    void *blocks[16] = {};

    HoardOwnerMoves() {
        for (unsigned i = 0; i < 9; ++i) {
            malloc(i);
        }
        for (const unsigned i : {4u, 5u, 6u}) {
            free(i);
        }
    }
    void malloc(unsigned i) {
        blocks[i] = heap.malloc(size);
        model::check(blocks[i] != nullptr, "no memory");
        static_cast<int *>(blocks[i])[10] += 1;
    }
    void free(unsigned i) {
        static_cast<int *>(blocks[i])[10] += 1;
        heap.free(blocks[i]);
        blocks[i] = nullptr;
    }
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
        } else {
            free(3);
            if (Malloc) {
                malloc(10);
            }
        }
    }
    void finish() {
        heap.for_each_heap([](auto &h) { model::check(h.check(), "a heap's account is wrong"); });
        for (unsigned i = 0; i < 16; ++i) {
            for (unsigned k = i + 1; k < 16; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
    }
};
const model::Kernel<HoardOwnerMoves<false>, 2> hoard_free("hoard.owner_moves", model::capped(3'000));
const model::Kernel<HoardOwnerMoves<true>, 2> hoard_malloc("hoard.owner_moves.malloc", model::capped(3'000));

/// The heaps are made by the first malloc.
enum class With : unsigned char { malloc, walk, fork };
template <With Other>
struct HoardFirst {
    Hoard<HoardSmallest> heap;
    void thread(unsigned i) {
        if (i == 0 || Other == With::malloc) {
            model::check(heap.malloc(1000) != nullptr, "no memory");
        } else if (Other == With::walk) {
            heap.for_each_heap([](auto &h) { const sync::Guard hold(h.lock); });
        } else {
            heap.lock_all();
            heap.unlock_all(sync::AfterFork::in_parent);
        }
    }
};
const model::Kernel<HoardFirst<With::malloc>, 2> hoard_first("hoard.first", {.short_executions = 2'000});
const model::Kernel<HoardFirst<With::walk>, 2> hoard_walk("hoard.first.walk", {.short_executions = 2'000});
const model::Kernel<HoardFirst<With::fork>, 2> hoard_fork("hoard.first.fork", {.short_executions = 2'000});

// ---- arenas

struct Arena {
    sync::Lock lock{sync::Rank::leaf};
    std::atomic<Arena *> next{nullptr};
    int data = 0;
};
/// Each thread has an arena to itself, and makes one when all are in use.
struct ArenasInUse {
    family::Arenas<Arena> arenas;
    struct Source {
        void *forever(std::size_t bytes) { return platform::vm::map(bytes); }
    } source;
    ArenasInUse() { thread_slot(); }
    void thread(unsigned) {
        Arena &mine = arenas.choose(source);
        ++mine.data;
        mine.lock.unlock();
    }
    void finish() {
        int all = 0;
        arenas.for_each([&](const Arena &arena) { all += arena.data; });
        model::check(all == 2 || all == 3, "an arena is lost");
    }
};
const model::Kernel<ArenasInUse, 2> arenas_2("arenas");
const model::Kernel<ArenasInUse, 3> arenas_3("arenas.three", model::capped(2'000));

} // namespace
