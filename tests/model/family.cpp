// SPDX-License-Identifier: MIT
//
// The family's protocols: NBmalloc's moves against each other and against searches, LKmalloc's coalescing, Hoard's second
// look at a superblock's owner.
#include "model.hpp"

#include <allocators/hoard.hpp>
#include <allocators/lkmalloc.hpp>
#include <allocators/nbmalloc.hpp>

#include <cairn/family/arenas.hpp>

using namespace cairn;

namespace {

/// One size class of two blocks a superblock, two fullness groups, flat-sets of two slots.
struct NbSmallest {
    static constexpr std::size_t superblock = 64_KiB;
    static constexpr std::size_t smallest = 32_KiB;
    static constexpr std::size_t largest_small = 32_KiB;
    static constexpr unsigned fullness_groups = 2;
    static constexpr std::uint32_t change_threshold_numerator = 0;
    static constexpr std::uint32_t change_threshold_denominator = 1;
    static constexpr std::size_t flat_set = 2;
    static constexpr std::size_t global_flat_set = 2;
    static constexpr unsigned processors = 1;
    static constexpr unsigned most_processors = 1;
};

template <unsigned Had>
struct Nb {
    using Heap = NbSmallHeap<NbSmallest>;
    using Layout = Heap::Layout;
    Heap heap;
    void *blocks[6] = {};

    Nb() {
        for (unsigned i = 0; i < Had; ++i) {
            malloc(i);
        }
    }
    void malloc(unsigned i) {
        blocks[i] = heap.malloc(NbSmallest::smallest);
        model::check(blocks[i] != nullptr, "no memory");
        auto *const words = static_cast<int *>(blocks[i]);
        words[100] += 1; // as its program does
    }
    void free(unsigned i) {
        static_cast<int *>(blocks[i])[100] += 1;
        heap.free(blocks[i]);
        blocks[i] = nullptr;
    }
    /// No block twice; each superblock in one slot, the one that it knows of; and none is forgotten.
    void finish() {
        unsigned live = 0;
        for (unsigned i = 0; i < 6; ++i) {
            live += blocks[i] != nullptr ? 1 : 0;
            for (unsigned k = i + 1; k < 6; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
        unsigned superblocks = 0;
        heap.for_each_superblock([&](auto &places, NbSuperblock &superblock) {
            ++superblocks;
            char *const memory = Layout::memory(&superblock);
            const NbMove now = NbMove::of(superblock.moves.load());
            model::check(!now.under_way(), "a move is not over");
            unsigned at = Layout::Reference::of_bits(superblock.outside.load()).is_null() ? 0 : 1;
            places.for_each_set([&](auto &set, NbLocation) {
                for (std::size_t i = 0; i < NbSmallest::flat_set; ++i) {
                    if (Layout::Reference::of_bits(set.slot(i).load()).pointer() == memory) {
                        model::check(!set.is_marked_empty(), "a set that has a superblock says it is empty");
                        ++at;
                    }
                }
            });
            model::check(at == 1, "a superblock is not in one place");
            model::check(places.slot(superblock, now.from).load() ==
                             typename Layout::Reference{memory, now.from_version}.bits(),
                         "a superblock is not where it is said to be");
        });
        const unsigned room = superblocks * 2 - live;
        for (unsigned i = 0; i < room; ++i) {
            model::check(heap.malloc(NbSmallest::smallest) != nullptr, "no memory");
        }
        unsigned after = 0;
        heap.for_each_superblock([&](auto &, NbSuperblock &) { ++after; });
        model::check(after == superblocks, "a free block was forgotten");
    }
};

struct NbFreeFree : Nb<2> {
    void thread(unsigned i) { free(i); }
};
struct NbFreeMalloc : Nb<2> {
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
        } else {
            malloc(3);
        }
    }
};
struct NbFreeFreeMalloc : Nb<2> {
    void thread(unsigned i) {
        if (i < 2) {
            free(i);
        } else {
            malloc(3);
        }
    }
};
struct NbRound : Nb<1> {
    void thread(unsigned i) {
        malloc(2 + i);
        free(2 + i);
    }
};
const model::Kernel<NbFreeFree, 2> nb_free("nbmalloc.free_free",
                                           {.executions = 400'000, .short_executions = 2'000});
const model::Kernel<NbFreeMalloc, 2> nb_malloc("nbmalloc.free_malloc",
                                               {.executions = 400'000, .short_executions = 2'000});
const model::Kernel<NbFreeFreeMalloc, 3> nb_three("nbmalloc.three", {.explore = model::Explore::random,
                                                                     .executions = 100'000,
                                                                     .short_executions = 2'000});
const model::Kernel<NbRound, 2> nb_round("nbmalloc.round",
                                         {.executions = 400'000, .short_executions = 2'000});
const model::Kernel<NbRound, 3> nb_rounds("nbmalloc.rounds", {.explore = model::Explore::random,
                                                              .executions = 100'000,
                                                              .short_executions = 2'000});

/// The first blocks of all: sets and segments are made by whoever comes first.
struct NbFirst : Nb<0> {
    void thread(unsigned i) { malloc(i); }
};
const model::Kernel<NbFirst, 2> nb_first("nbmalloc.first",
                                         {.executions = 400'000, .short_executions = 2'000});

/// A walk over all superblocks meanwhile.
struct NbWalk : Nb<0> {
    void thread(unsigned i) {
        if (i == 0) {
            malloc(0);
        } else {
            Statistics all{};
            heap.statistics(all);
            model::check(all.superblocks <= 1, "superblocks that are not there");
        }
    }
};
const model::Kernel<NbWalk, 2> nb_walk("nbmalloc.walk", {.executions = 400'000, .short_executions = 2'000});

/// Two processors' heaps of a slot for each group, and none in the global heap: superblocks find no room.
struct NbCrowded : NbSmallest {
    static constexpr std::size_t flat_set = 1;
    static constexpr std::size_t global_flat_set = 0;
    static constexpr unsigned processors = 2;
    static constexpr unsigned most_processors = 2;
};

/// One frees a block of a superblock that has no room and is listed, another one looks into the list.
struct NbOverflow {
    NbSmallHeap<NbCrowded> heap;
    void *blocks[6] = {};

    void *malloc() {
        void *const p = heap.malloc(NbCrowded::smallest);
        model::check(p != nullptr, "no memory");
        return p;
    }
    void free(unsigned i) { heap.free(blocks[i]); }
    NbOverflow() {
        model::as_thread(2,
                         [&] { // two of a heap of its own: thread 1's number has the same hash as thread 0's
                             malloc();
                             malloc();
                         });
        for (void *&p : blocks) {
            p = malloc();
        }
        free(0); // takes a place
        free(2); // and the other one
        free(4); // no room any more: listed
        malloc();
        free(5);
        malloc(); // all that are free
        malloc();
        malloc();
        free(0);
        free(2);
    }
    void thread(unsigned i) {
        if (i == 0) {
            free(4);
        } else if (i == 2) {
            malloc();
        }
    }
    void finish() {
        heap.for_each_superblock([&](auto &places, NbSuperblock &superblock) {
            const NbMove now = NbMove::of(superblock.moves.load());
            model::check(superblock.blocks.count() == 0 || superblock.listed.load() ||
                             places.where(now.from).group != places.no_group,
                         "a free block was forgotten");
        });
    }
};
const model::Kernel<NbOverflow, 3> nb_overflow("nbmalloc.overflow",
                                               {.executions = 400'000, .short_executions = 2'000});

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
const model::Kernel<LkNeighbours, 2> lk_neighbours("lkmalloc.neighbours",
                                                   {.executions = 400'000, .short_executions = 2'000});
const model::Kernel<LkBothSides, 2> lk_sides("lkmalloc.both_sides",
                                             {.executions = 400'000, .short_executions = 2'000});
const model::Kernel<LkFreeMalloc, 2> lk_malloc("lkmalloc.free_malloc",
                                               {.executions = 400'000, .short_executions = 2'000});
const model::Kernel<LkNeighbours, 3> lk_three("lkmalloc.three",
                                              {.executions = 400'000, .short_executions = 2'000});

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

/// Two superblocks of a thread's heap; its frees bring it to give one away, while another thread frees in it.
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
        for (unsigned i = 0; i < 3; ++i) {
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
            free(4);
            free(5);
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
const model::Kernel<HoardOwnerMoves<false>, 2> hoard_free("hoard.owner_moves",
                                                          {.executions = 400'000, .short_executions = 3'000});
const model::Kernel<HoardOwnerMoves<true>, 2>
    hoard_malloc("hoard.owner_moves.malloc", {.executions = 400'000, .short_executions = 3'000});

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
            heap.unlock_all();
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
const model::Kernel<ArenasInUse, 3> arenas_3("arenas.three",
                                             {.executions = 400'000, .short_executions = 2'000});

} // namespace
