// SPDX-License-Identifier: MIT
//
// Michael's allocator, with two and four blocks a superblock: credits, frees that make a superblock partial and empty,
// superblocks on their way to slot and queue, and empty ones that come back.
#include "model.hpp"

#include <allocators/michael.hpp>

using namespace cairn;

namespace {

/// Two heaps, and three classes: superblocks of eight, four and two blocks.
template <unsigned Credits>
struct MiSmallest {
    static constexpr std::size_t superblock = 64_KiB;
    static constexpr std::size_t smallest = 8_KiB;
    static constexpr std::size_t largest_small = 32_KiB;
    static constexpr unsigned most_credits = Credits;
    static constexpr unsigned processors = 2;
    static constexpr unsigned most_processors = 2;
};

enum : unsigned { eights, fours, twos };

template <unsigned Credits = 1>
struct Mi {
    using Heap = MichaelSmallHeap<MiSmallest<Credits>>;
    using Layout = typename Heap::Layout;
    static constexpr unsigned most = 10;
    Heap heap;
    int *blocks[most] = {};
    struct Found {
        MichaelSuperblock *superblock = nullptr;
        unsigned places = 0;
        std::uint32_t credits = 0;
        bool retired = false;
    };
    Found found[most] = {};

    void malloc(unsigned i, unsigned size_class = twos, unsigned in = 0) {
        blocks[i] = static_cast<int *>(heap.malloc_in(in, size_class));
        model::check(blocks[i] != nullptr, "no memory");
        blocks[i][100] += 1; // as its program does
    }
    void free(unsigned i) {
        blocks[i][100] += 1;
        heap.free(blocks[i]);
        blocks[i] = nullptr;
    }

    Found &of(MichaelSuperblock &superblock) {
        for (Found &one : found) {
            if (one.superblock == nullptr || one.superblock == &superblock) {
                one.superblock = &superblock;
                return one;
            }
        }
        model::fail("too many superblocks");
    }

    /// No block twice; each superblock where its state says, and nowhere else; no free block forgotten.
    void finish() {
        for (unsigned i = 0; i < most; ++i) {
            for (unsigned k = i + 1; k < most; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
        heap.places().for_each(
            [&](unsigned, unsigned, typename Layout::Reference word, MichaelSuperblock *slot) {
                if (!word.is_null()) {
                    Found &active = of(*Layout::descriptor(word.pointer()));
                    ++active.places;
                    active.credits = static_cast<std::uint32_t>(word.tag()) + 1;
                }
                if (slot != nullptr) {
                    ++of(*slot).places;
                }
            },
            [&](unsigned, MichaelSuperblock &superblock) { ++of(superblock).places; },
            [&](MichaelSuperblock &superblock) {
                ++of(superblock).places;
                of(superblock).retired = true;
            });
        heap.for_each_superblock([&](MichaelSuperblock &superblock) { look_at(superblock); });
    }

    void look_at(MichaelSuperblock &superblock) {
        const Found one = of(superblock);
        const MichaelAnchor now = superblock.look();
        const bool full = now.state == MichaelState::full;
        const bool empty = now.state == MichaelState::empty;
        model::check(one.places == (full ? 0 : 1), "a superblock is not in one place");
        model::check((one.credits != 0) == (now.state == MichaelState::active), "credits of another state");
        model::check(!one.retired || empty, "a superblock was retired with live blocks");
        const unsigned bit = superblock.class_bit.load(std::memory_order_relaxed);
        char *const memory = Layout::memory(&superblock);
        std::uint32_t live = 0;
        for (const int *const block : blocks) {
            live += block != nullptr && Layout::descriptor(block) == &superblock ? 1 : 0;
        }
        const std::uint32_t free = now.count + one.credits + (empty ? 1 : 0);
        model::check(live + free == Layout::capacity(bit), "a free block was forgotten");
        std::uint32_t first = now.first;
        unsigned seen = 0;
        for (std::uint32_t i = 0; i < free; ++i) {
            const char *const block = memory + (std::size_t{first} << bit);
            model::check(first < Layout::capacity(bit) && (seen & 1u << first) == 0,
                         "not a list of free blocks");
            seen |= 1u << first;
            for (const int *const other : blocks) {
                model::check(reinterpret_cast<const char *>(other) != block, "a live block is in the list");
            }
            first = sync::BlockLink::next(block, first);
        }
    }
};

constexpr model::Options large = model::capped(10'000);

/// The first blocks of all: of two new superblocks one becomes active.
struct MiFirst : Mi<> {
    void thread(unsigned i) { malloc(i); }
};
const model::Kernel<MiFirst, 2> mi_first("michael.first", large);

/// One credit, and who takes it makes the next one active; who comes meanwhile finds none, and takes another
/// superblock.
template <unsigned Had>
struct MiCredits : Mi<> {
    MiCredits() {
        for (unsigned i = 0; i < Had; ++i) {
            malloc(i, fours);
        }
    }
    void thread(unsigned i) { malloc(Had + i, fours); }
};
const model::Kernel<MiCredits<1>, 2> mi_credits("michael.credits", large);
const model::Kernel<MiCredits<3>, 2> mi_last_credit("michael.credits.last", large);
const model::Kernel<MiCredits<1>, 3> mi_credits_3("michael.credits.three", large);

/// Frees against each other and against malloc, on one anchor: active with a credit, and full.
template <unsigned Had, unsigned Frees, unsigned SizeClass = twos>
struct MiFree : Mi<> {
    MiFree() {
        for (unsigned i = 0; i < Had; ++i) {
            malloc(i, SizeClass);
        }
    }
    void thread(unsigned i) { i < Frees ? free(i) : malloc(Had + i, SizeClass); }
};
const model::Kernel<MiFree<1, 1>, 2> mi_free_active("michael.free_malloc.active", large);
const model::Kernel<MiFree<2, 1, fours>, 2> mi_free_more("michael.free_malloc.credits", large);
const model::Kernel<MiFree<2, 1>, 2> mi_free_full("michael.free_malloc", large);
const model::Kernel<MiFree<2, 2>, 2> mi_free_free("michael.free_free", large);
const model::Kernel<MiFree<2, 2>, 3> mi_free_free_malloc("michael.free_free.malloc", large);

/// The last block of a superblock in the slot is freed while a malloc takes the superblock from there.
struct MiLast : Mi<> {
    MiLast() {
        malloc(0);
        malloc(1);
        free(1);
    }
    void thread(unsigned i) { i == 0 ? free(0) : malloc(1 + i, twos, 1 - i % 2); }
};
const model::Kernel<MiLast, 2> mi_last("michael.last", large);
const model::Kernel<MiLast, 3> mi_last_3("michael.last.two", large);

/// It comes back to the slot with live blocks before who freed the last block looks there.
struct MiComesBack : MiLast {
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
        } else {
            malloc(2);
            malloc(3);
            free(2);
        }
    }
};
const model::Kernel<MiComesBack, 2> mi_comes_back("michael.comes_back", large);

/// Another class gets it, whose blocks lie elsewhere.
struct MiOtherClass : Mi<> {
    MiOtherClass() {
        malloc(0);
        malloc(1);
        free(0);
    }
    void thread(unsigned i) {
        if (i == 0) {
            free(1);
        } else {
            malloc(2, fours);
            malloc(3, fours);
        }
    }
};
const model::Kernel<MiOtherClass, 2> mi_other_class("michael.other_class", large);

/// Two full ones become partial in one heap; a third thread looks for one, from another heap.
struct MiQueue : Mi<> {
    MiQueue() {
        for (unsigned i = 0; i < 4; ++i) {
            malloc(i);
        }
    }
    void thread(unsigned i) { i < 2 ? free(2 * i) : malloc(5, twos, 1); }
};
const model::Kernel<MiQueue, 2> mi_puts("michael.puts", large);
const model::Kernel<MiQueue, 3> mi_queue("michael.queue", large);

/// Three partly filled, in slot and queue: each becomes empty. One thread takes what is there meanwhile.
struct MiDrops : Mi<> {
    MiDrops() {
        for (unsigned i = 0; i < 6; ++i) {
            malloc(i);
        }
        for (unsigned i = 0; i < 6; i += 2) {
            free(i);
        }
    }
    void thread(unsigned i) { i < 2 ? free(2 * i + 1) : malloc(7, twos, 1); }
};
const model::Kernel<MiDrops, 2> mi_drops("michael.drops", large);
const model::Kernel<MiDrops, 3> mi_drops_3("michael.drops.malloc", large);

/// A superblock goes from the queue to a heap, fills up there, and comes into a slot again: with the node and the heap
/// that it has got there.
struct MiRound : Mi<> {
    MiRound() {
        for (unsigned i = 0; i < 4; ++i) {
            malloc(i);
        }
        free(0);
        free(2);
    }
    void thread(unsigned i) {
        if (i == 0) {
            malloc(4, twos, 1);
        } else {
            free(1);
            malloc(5, twos, 0);
        }
    }
};
const model::Kernel<MiRound, 2> mi_round("michael.round", large);

/// One thread puts a superblock into a slot, with a node that it has got from the queue; the other one's pushes it from
/// there into the queue, or the other way round.
struct MiPushesOut : Mi<> {
    MiPushesOut() {
        for (unsigned i = 0; i < 6; ++i) {
            malloc(i, twos, i / 4);
        }
        free(0);
        free(2); // one in the slot of heap 0, one in the queue, a full one of heap 1
    }
    void thread(unsigned i) {
        if (i == 0) {
            malloc(6, twos, 1);
            free(1);
        } else {
            free(4);
        }
    }
};
const model::Kernel<MiPushesOut, 2> mi_pushes_out("michael.pushes_out", large);

/// The first block of the list is the same again, and as many are free, but the next one is live.
struct MiAba : Mi<2> {
    MiAba() { malloc(0, eights); }
    void thread(unsigned i) {
        if (i == 0) {
            malloc(1, eights);
            return;
        }
        malloc(2, eights);
        malloc(3, eights);
        free(0);
        free(2);
    }
};
const model::Kernel<MiAba, 2> mi_aba("michael.aba", large);

/// A walk over all superblocks meanwhile.
struct MiWalk : Mi<> {
    void thread(unsigned i) {
        if (i == 0) {
            malloc(0, fours);
        } else {
            Statistics all{};
            heap.statistics(all);
            model::check(all.superblocks <= 1, "superblocks that are not there");
            model::check(all.by_class[fours].live_blocks <= 2, "a superblock that is not made");
        }
    }
};
const model::Kernel<MiWalk, 2> mi_walk("michael.walk", large);

} // namespace
