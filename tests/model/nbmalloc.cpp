// SPDX-License-Identifier: MIT
//
// NBmalloc: its heap of two blocks a superblock, and then its parts alone: moves against each other and against
// searches, and the list of superblocks that found no room.
#include "model.hpp"

#include <allocators/nbmalloc.hpp>

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
const model::Kernel<NbFreeFree, 2> nb_free("nbmalloc.free_free", model::capped(2'000));
const model::Kernel<NbFreeMalloc, 2> nb_malloc("nbmalloc.free_malloc", model::capped(2'000));
const model::Kernel<NbFreeFreeMalloc, 3> nb_three("nbmalloc.three", {.explore = model::Explore::random,
                                                                     .executions = 100'000,
                                                                     .short_executions = 2'000});
const model::Kernel<NbRound, 2> nb_round("nbmalloc.round", model::capped(2'000));
const model::Kernel<NbRound, 3> nb_rounds("nbmalloc.rounds", {.explore = model::Explore::random,
                                                              .executions = 100'000,
                                                              .short_executions = 2'000});

/// The first blocks of all: sets and segments are made by whoever comes first.
struct NbFirst : Nb<0> {
    void thread(unsigned i) { malloc(i); }
};
const model::Kernel<NbFirst, 2> nb_first("nbmalloc.first", model::capped(2'000));

/// A walk over all superblocks meanwhile.
struct NbWalk : Nb<0> {
    void thread(unsigned i) {
        if (i == 0) {
            malloc(0);
        } else {
            Statistics all{};
            heap.statistics(all);
            model::check(all.superblocks <= 1, "superblocks that are not there");
            model::check(all.by_class[0].live_blocks <= 1, "a superblock that is not made");
        }
    }
};
const model::Kernel<NbWalk, 2> nb_walk("nbmalloc.walk", model::capped(2'000));

/// The only superblock is full, and its slot is filled anew: with one that the other thread learns of from there alone.
struct NbRefill : Nb<2> {
    void thread(unsigned i) { malloc(2 + i); }
};
const model::Kernel<NbRefill, 2> nb_refill("nbmalloc.refill", model::capped(4'000));

// ---- moves

/// Superblocks and sets, without a heap. Set 0 is in the group that is searched first, sets 1 and 2 come behind it.
struct NbMoves {
    using Places = NbPlaces<NbSmallest>;
    using Layout = Places::Layout;
    using Mover = NbMover<Places>;
    Places places;
    family::Segments<Layout> segments;
    NbSuperblock *superblocks[2] = {};

    NbMoves() {
        for (NbSuperblock *&s : superblocks) {
            s = make(segments);
        }
    }
    static constexpr unsigned class_bit = log2_exact(NbSmallest::smallest);
    static NbSuperblock *make(family::Segments<Layout> &from) {
        NbSuperblock *const s = from.take();
        s->outside.store(Layout::Reference{Layout::memory(s), 1}.bits(), std::memory_order_relaxed);
        s->moves.set_alone(NbMove{Places::outside(1), 1, nb_nowhere, 0}.word());
        s->class_bit.store(class_bit, std::memory_order_relaxed);
        return s;
    }
    static constexpr unsigned heap_of[3] = {1, 1, 0}, group_of[3] = {1, 0, 0};
    Places::Set &set(unsigned i) { return *places.set(heap_of[i], 0, group_of[i]); }

    /// To the first `size` slots of set `i`, from where it is now.
    NbMoved move(unsigned s, unsigned i, std::size_t size = 2) {
        NbSuperblock &superblock = *superblocks[s];
        const NbMove now = Mover::settled(places, superblock);
        return set(i).insert(size, [&](std::uint32_t slot, std::uint64_t version) {
            return Mover::move(places, superblock, now.from,
                               Places::location(heap_of[i], 0, group_of[i], slot), version);
        });
    }
    NbMoved out(unsigned s) {
        NbSuperblock &superblock = *superblocks[s];
        const NbMove now = Mover::settled(places, superblock);
        return Mover::move(
            places, superblock, now.from, Places::outside(1),
            Layout::Reference::of_bits(superblock.outside.load(std::memory_order_relaxed)).tag());
    }
    bool has(unsigned i) {
        Places::Set::Found found;
        return set(i).get_any(found);
    }
    /// Each superblock is where it says that it is, nowhere else, and can be found there.
    void finish() {
        for (NbSuperblock *const s : superblocks) {
            const NbMove now = NbMove::of(s->moves.load());
            model::check(!now.under_way(), "a move is not over");
            char *const memory = Layout::memory(s);
            unsigned at = Layout::Reference::of_bits(s->outside.load()).is_null() ? 0 : 1;
            for (unsigned i = 0; i < 3; ++i) {
                for (std::size_t k = 0; k < NbSmallest::flat_set; ++k) {
                    if (Layout::Reference::of_bits(set(i).slot(k).load()).pointer() == memory) {
                        model::check(has(i), "a search does not find what is there");
                        ++at;
                    }
                }
            }
            model::check(at == 1, "a superblock is not in one place");
            model::check(places.slot(*s, now.from).load() ==
                             Layout::Reference{memory, now.from_version}.bits(),
                         "a superblock is not where it is said to be");
        }
    }
};

/// One superblock, which each thread wants elsewhere.
struct NbMoveMove : NbMoves {
    NbMoveMove() { move(0, 0); }
    void thread(unsigned i) { move(0, 1 + i % 2); }
};
/// And back, into the slot that it came from.
struct NbMoveBack : NbMoves {
    NbMoveBack() { move(0, 0); }
    void thread(unsigned i) {
        if (i == 0) {
            move(0, 1);
            move(0, 0);
        } else {
            move(0, 2);
        }
    }
};
/// Out of all sets, and back.
struct NbMoveOut : NbMoves {
    NbMoveOut() { move(0, 0); }
    void thread(unsigned i) {
        out(0);
        if (i == 1) {
            move(0, 0);
        }
    }
};
/// To where it is: seen empty, while it was away.
struct NbMoveHome : NbMoves {
    NbMoveHome() { move(0, 0); }
    void thread(unsigned i) {
        if (i == 0) {
            move(0, 1);
        }
        move(0, 0, 1);
    }
};
/// Two superblocks, and one slot.
struct NbMoveSame : NbMoves {
    NbMoved results[2] = {};
    NbMoveSame() {
        move(0, 0);
        move(1, 0);
    }
    void thread(unsigned i) { results[i] = move(i, 1, 1); }
    void finish() {
        NbMoves::finish();
        model::check((results[0] == NbMoved::done) != (results[1] == NbMoved::done), "not one of two has it");
    }
};
/// The same, while the first one is sent on by another thread.
struct NbMoveOn : NbMoveSame {
    void thread(unsigned i) {
        if (i < 2) {
            move(i, 1, 1);
        } else {
            move(0, 2);
        }
    }
    void finish() { NbMoves::finish(); }
};
const model::Kernel<NbMoveMove, 2> nb_move("nbmalloc.move", model::capped(4'000));
const model::Kernel<NbMoveMove, 3> nb_move_3("nbmalloc.move.three", model::capped(4'000));
const model::Kernel<NbMoveBack, 2> nb_back("nbmalloc.move.back", model::capped(4'000));
const model::Kernel<NbMoveOut, 2> nb_out("nbmalloc.move.out", model::capped(4'000));
const model::Kernel<NbMoveHome, 2> nb_home("nbmalloc.move.home", model::capped(4'000));
const model::Kernel<NbMoveSame, 2> nb_same("nbmalloc.move.same_slot", model::capped(4'000));
const model::Kernel<NbMoveOn, 3> nb_on("nbmalloc.move.on", model::capped(4'000));

/// Who looks where a superblock comes from and then where it goes finds it, whoever moves it and whoever else looks.
template <unsigned Movers>
struct NbMoveSearch : NbMoves {
    NbMoveSearch() {
        move(0, 0);
        has(1); // nothing, and the set says so from now on
    }
    void thread(unsigned i) {
        if (i < Movers) {
            move(0, 1);
        } else if (i == Movers) {
            model::check(has(0) || has(1), "a search misses a superblock");
        } else {
            has(0); // and may say that the set is empty
        }
    }
};
const model::Kernel<NbMoveSearch<1>, 2> nb_search("nbmalloc.search", model::capped(4'000));
const model::Kernel<NbMoveSearch<1>, 3> nb_searches("nbmalloc.search.two", model::capped(4'000));
const model::Kernel<NbMoveSearch<2>, 3> nb_moves("nbmalloc.search.moves", model::capped(4'000));

/// A superblock of memory that a thread has just mapped comes into a slot that others look at.
struct NbMoveFresh : NbMoves {
    family::Segments<Layout> more;
    NbMoveFresh() {
        move(0, 0);
        move(0, 1);
    }
    void thread(unsigned i) {
        if (i == 0) {
            superblocks[1] = make(more);
            move(1, 0);
        } else if (Places::Set::Found found; set(0).get_any(found)) {
            const NbSuperblock *const s = Layout::descriptor(found.reference.pointer());
            model::check(s->class_bit.load(std::memory_order_relaxed) == class_bit,
                         "a superblock that is not made");
        }
    }
};
const model::Kernel<NbMoveFresh, 2> nb_fresh("nbmalloc.search.fresh", model::capped(4'000));

// ---- large blocks

/// One gives a block back, or makes it longer before; the other one gets the addresses.
template <bool Longer>
struct NbLong {
    family::MappedBlocks<64_KiB> large;
    char *p = static_cast<char *>(large.malloc(16, 1));
    char *q = nullptr;
    void *moved = nullptr;
    void thread(unsigned i) {
        if (i == 1) {
            q = static_cast<char *>(large.malloc(16, 1));
            *q = 2;
            return;
        }
        *p = 1;
        if (Longer) {
            moved = large.reallocate(p, 10000);
            model::check(moved != nullptr && *static_cast<char *>(moved) == 1,
                         "a block that has moved is not the same");
            large.free(moved);
        } else {
            large.free(p);
        }
    }
    void finish() { model::outcome(q == p || q == moved ? "again" : "others"); }
};
const model::Kernel<NbLong<false>, 2> nb_long("nbmalloc.large",
                                              {.reuses = true, .outcomes = "again, others"});
const model::Kernel<NbLong<true>, 2> nb_longer("nbmalloc.large.longer",
                                               {.reuses = true, .outcomes = "again, others"});

// ---- superblocks without room

/// A processor's heap of a slot for each group, and none in the global heap.
struct NbCrowded : NbSmallest {
    static constexpr std::size_t flat_set = 1;
    static constexpr std::size_t global_flat_set = 0;
};

/// A superblock is full by now, and still on the list of those that found no room: while one thread takes it from
/// there, others free its blocks. It must not be forgotten.
struct NbOverflow {
    using Keeper = NbKeeper<NbCrowded>;
    using Layout = Keeper::Layout;
    static constexpr unsigned bit = Keeper::first_bit;
    static constexpr std::uint32_t capacity = 2;
    Keeper keeper;
    family::Segments<Layout> segments;
    NbSuperblock *crowd[2] = {}, *full = nullptr;
    unsigned freed = 0, taken[4] = {};

    NbOverflow() {
        for (NbSuperblock *&s : crowd) {
            s = make();
            free(*s, 0);
        }
        full = make();
        free(*full, 0);
        model::check(full->listed.load() && keeper.is_outside(*full), "there was room");
        full->blocks.pop(Layout::memory(full), bit);
    }
    NbSuperblock *make() {
        NbSuperblock *const s = segments.take();
        s->blocks.set_alone(0, 0);
        s->outside.store(Layout::Reference{Layout::memory(s), 1}.bits(), std::memory_order_relaxed);
        s->moves.set_alone(NbMove{Keeper::Places::outside(1), 1, nb_nowhere, 0}.word());
        s->class_bit.store(bit, std::memory_order_relaxed);
        return s;
    }
    void free(NbSuperblock &s, std::uint32_t block) {
        const std::uint32_t count = s.blocks.push(Layout::memory(&s), bit, block, capacity);
        keeper.review(s, capacity - count, capacity);
    }
    /// As a malloc that has found nothing elsewhere.
    void take(unsigned i) {
        while (NbSuperblock *const s = keeper.take_overflow(bit)) {
            if (s->blocks.pop(Layout::memory(s), bit).block != sync::IbmFreelist::none) {
                ++taken[i];
                keeper.adopt(*s, 1);
                return;
            }
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            take(0);
        } else {
            free(*full, i - 1);
        }
    }
    void finish() {
        model::check(full->blocks.count() == 0 || full->listed.load(), "a free block was forgotten");
        const bool more = full->blocks.count() != 0;
        take(1);
        model::check(taken[1] == (more ? 1 : 0), "a listed superblock is not found");
    }
};
struct NbOverflowTwice : NbOverflow {
    void thread(unsigned i) {
        if (i < 2) {
            take(i + 2);
        } else {
            free(*full, 0);
        }
    }
};
const model::Kernel<NbOverflow, 2>
    nb_overflow("nbmalloc.overflow", {.executions = 400'000, .short_executions = 4'000, .late = true});
const model::Kernel<NbOverflow, 3> nb_overflow_3("nbmalloc.overflow.frees", model::capped(4'000));
const model::Kernel<NbOverflowTwice, 3> nb_overflow_2("nbmalloc.overflow.takes", {.executions = 400'000,
                                                                                  .short_executions = 4'000,
                                                                                  .late = true});

} // namespace
