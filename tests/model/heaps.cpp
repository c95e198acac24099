// SPDX-License-Identifier: MIT
//
// First-class heaps, src/malloc's own source over the malloc: blocks that another thread frees, superblocks that become
// empty, long blocks, the list of all heaps, figures, and fork. And rows of heaps of which each thread has one
// (HashedHeaps).
#include "model.hpp"

#include <src/malloc/first_class.hpp>

#include <csignal>
#include <pthread.h>

#define pthread_atfork(prepare, parent, child) 0
#define pthread_sigmask(how, wanted, before) static_cast<void>(wanted), static_cast<void>(before)
#include <src/malloc/first_class.cpp>
#include <src/malloc/first_class_heap.cpp>

#include <cairn/core/compose.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/thread/thread_owned.hpp>
#include <cairn/thread/thread_private.hpp>

namespace cairn {

Options &options_in_force() noexcept {
    static constinit Options options;
    return options;
}

namespace process_heap {

constinit Heap heap;

bool Hooks::attached() noexcept {
    return true;
}
void Hooks::grew() noexcept {}
void Hooks::surplus() noexcept {}
void Hooks::returned() noexcept {}
void statistics(Statistics &out) noexcept { // of the malloc: a walk without locks
    out = {};
}

} // namespace process_heap
} // namespace cairn

using namespace cairn;

namespace {

// ---- first-class heaps

constexpr std::size_t size = 8_KiB; ///< eight in a superblock
constexpr unsigned of_one = 8;
constexpr std::size_t long_size = 100_KiB;
constexpr unsigned size_class = process_heap::Heap::SizeClasses::class_of(size);

struct FirstClass {
    process_heap::FirstClassHeap *h = nullptr;
    void *blocks[2 * of_one] = {};
    std::size_t sizes[2 * of_one] = {};

    explicit FirstClass(unsigned had) {
        for (unsigned i = 0; i < 2; ++i) {
            model::as_thread(i, [] { process_heap::heap.free(process_heap::heap.malloc(16)); });
        }
        model::as_thread(0, [&] {
            h = process_heap::create();
            for (unsigned i = 0; i < had; ++i) {
                malloc(i);
            }
        });
        model::name(&h->lock, "lock of the heap");
        model::name(&process_heap::list_lock, "lock of the list");
    }
    void malloc(unsigned i, std::size_t bytes = size) {
        blocks[i] = process_heap::allocate(h, bytes, 16);
        sizes[i] = bytes;
        model::check(blocks[i] != nullptr, "no memory");
        ends(i)[0] = ends(i)[1] = i + 1;
    }
    struct Ends {
        unsigned *at[2];
        unsigned &operator[](unsigned i) { return *at[i]; }
    };
    Ends ends(unsigned i) {
        auto *const words = static_cast<unsigned *>(blocks[i]);
        return {{words + 4, words + sizes[i] / sizeof(unsigned) - 1}};
    }
    void check_block(unsigned i) {
        model::check(ends(i)[0] == i + 1 && ends(i)[1] == i + 1, "somebody else has written into a block");
    }
    void free(unsigned i) {
        check_block(i);
        void *const p = blocks[i];
        blocks[i] = nullptr;
        process_heap::deallocate(h, p);
    }
    void none_twice() {
        for (unsigned i = 0; i < 2 * of_one; ++i) {
            if (blocks[i] != nullptr) {
                check_block(i);
            }
            for (unsigned k = i + 1; k < 2 * of_one; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
    }
    /// The heap says how many blocks are live.
    void check_counts() {
        unsigned small = 0, nodes = 0;
        for (unsigned i = 0; i < 2 * of_one; ++i) {
            small += blocks[i] != nullptr && sizes[i] == size ? 1 : 0;
            nodes += blocks[i] != nullptr && sizes[i] == long_size ? 1 : 0;
        }
        model::check(h->live[size_class] == small &&
                         h->live[process_heap::FirstClassHeap::node_class] == nodes,
                     "the heap says that more or fewer blocks are live");
        model::check(h->superblocks[size_class] * of_one >= small, "a superblock is not counted");
        unsigned in_table = 0;
        h->large_blocks.for_each([&](const process_heap::LargeBlock *) { ++in_table; });
        model::check(in_table == nodes, "a large block is lost, or there twice");
    }
    static std::size_t heaps() {
        std::size_t count = 0;
        for (auto *one = process_heap::all_heaps; one != nullptr; one = one->next) {
            model::check(one->next == nullptr || one->next->previous == one, "the list of heaps is broken");
            ++count;
        }
        return count;
    }
    /// All heaps are gone and no thread has anything: nothing is in use.
    static void nothing_left(unsigned threads = 2) {
        model::check(heaps() == 0, "a heap is still in the list");
        for (unsigned i = 0; i < threads; ++i) {
            model::as_thread(i, [] { process_heap::heap.detach(); });
        }
        process_heap::heap.levels().trim(SIZE_MAX);
        RunHeap &runs = process_heap::heap.levels().runs();
        model::check(runs.dirty_bytes() == runs.resident_bytes(), "memory is lost");
    }
    void finish() {
        none_twice();
        if (h != nullptr) {
            check_counts();
            model::check(heaps() == 1, "a heap is lost");
            model::as_thread(0, [&] { process_heap::destroy(h); });
        }
        nothing_left();
    }
};

/// A superblock without room: each thread frees a block of the other's and allocates one.
struct Shared : FirstClass {
    Shared() : FirstClass(of_one) {}
    void thread(unsigned i) {
        free(i);
        malloc(9 + i);
    }
};
const model::Kernel<Shared, 2> shared("heap.shared", model::capped(3'000));

/// The last blocks of a superblock that is not the current one: it goes back, while another thread allocates.
template <bool Malloc>
struct Emptied : FirstClass {
    Emptied() : FirstClass(of_one + 1) {
        model::as_thread(0, [&] {
            for (unsigned i = 2; i < of_one; ++i) {
                free(i);
            }
        });
    }
    void thread(unsigned i) {
        if (Malloc && i == 1) {
            for (unsigned k = 0; k < 2; ++k) {
                malloc(of_one + 2 + k);
            }
        } else {
            free(i);
            if (Malloc) {
                free(1);
            }
        }
    }
};
const model::Kernel<Emptied<false>, 2> emptied("heap.emptied", model::capped(3'000));
const model::Kernel<Emptied<true>, 2> emptied_malloc("heap.emptied.malloc", model::capped(3'000));

/// The same, while the malloc takes a superblock, of whoever's memory.
struct EmptiedForAll : Emptied<false> {
    void *p = nullptr;
    void thread(unsigned i) {
        if (i == 0) {
            free(0);
            free(1);
        } else {
            p = process_heap::heap.malloc(size);
            static_cast<unsigned *>(p)[7] = 1;
        }
    }
    void finish() {
        none_twice();
        check_counts();
        model::as_thread(0, [&] { process_heap::destroy(h); });
        model::as_thread(1, [&] { process_heap::heap.free(p); });
        nothing_left();
    }
};
const model::Kernel<EmptiedForAll, 2> emptied_for_all("heap.emptied.for_all", model::capped(3'000));

/// Blocks too long for superblocks: one frees what the other one has allocated, while that one allocates.
struct Long : FirstClass {
    Long() : FirstClass(1) {
        model::as_thread(0, [&] { malloc(1, long_size); });
    }
    void thread(unsigned i) { i == 0 ? malloc(2, long_size) : free(1); }
};
const model::Kernel<Long, 2> long_blocks("heap.long", model::capped(3'000));

/// Heaps are made and destroyed by two threads: the list of them all.
struct Made : FirstClass {
    Made() : FirstClass(1) {}
    void thread(unsigned i) {
        if (i == 0) {
            process_heap::destroy(h);
            h = nullptr;
            blocks[0] = nullptr;
        } else {
            auto *const mine = process_heap::create();
            void *const p = process_heap::allocate(mine, size, 16);
            static_cast<unsigned *>(p)[7] = 1;
            model::check(heaps_at_least_one(mine), "a heap is not in the list");
            process_heap::destroy(mine);
        }
    }
    static bool heaps_at_least_one(const process_heap::FirstClassHeap *mine) {
        const sync::Guard hold(process_heap::list_lock);
        for (const auto *one = process_heap::all_heaps; one != nullptr; one = one->next) {
            if (one == mine) {
                return true;
            }
        }
        return false;
    }
};
const model::Kernel<Made, 2> made("heap.made", model::capped(1'000));

/// Somebody asks for figures while a heap is used and destroyed: what he is told was so at some moment.
struct Figures : FirstClass {
    Figures() : FirstClass(1) {}
    void thread(unsigned i) {
        if (i == 0) {
            malloc(1);
            process_heap::destroy(h);
            h = nullptr;
            blocks[0] = blocks[1] = nullptr;
            return;
        }
        Statistics all;
        process_heap::whole_statistics(all);
        const SizeClassStatistics &row = all.by_class[size_class];
        model::check(row.live_blocks <= 2 && row.superblocks <= 1 && all.superblocks == row.superblocks &&
                         (row.live_blocks == 0 || row.superblocks == 1),
                     "figures that never were");
    }
};
const model::Kernel<Figures, 2> figures("heap.figures", model::capped(3'000));

/// A fork, by a thread that has all heaps then, while another one uses one, or destroys it. `Child`: what comes of it
/// there.
template <bool Child, bool Destroy>
struct ForkedHeap : FirstClass {
    ForkedHeap() : FirstClass(3) {}
    void thread(unsigned i) {
        if (i == 1) {
            if (Destroy) {
                process_heap::FirstClassHeap *const mine = h;
                blocks[0] = blocks[1] = blocks[2] = nullptr;
                h = nullptr;
                process_heap::destroy(mine);
            } else {
                free(0);
                malloc(9);
            }
            return;
        }
        process_heap::before_fork();
        if (Child) {
            model::fork_alone();
            process_heap::heap.repair_after_fork();
            process_heap::untouch_after_fork();
        }
        process_heap::after_fork();
        if (Child && h != nullptr) {
            malloc(10);
            free(1);
        }
    }
    /// What the other thread was about to hand out or take back may leak in the child: the heap is whole all the same.
    void finish() {
        if (!Child) {
            FirstClass::finish();
            return;
        }
        none_twice();
        model::check(heaps() <= 1, "a heap is there twice");
        if (h != nullptr) {
            unsigned live = 0;
            for (void *const p : blocks) {
                live += p != nullptr ? 1 : 0;
            }
            model::check(h->live[size_class] == live || h->live[size_class] == live + 1,
                         "a block was lost with the other thread's");
            model::as_thread(0, [&] { process_heap::destroy(h); });
        }
    }
};
const model::Kernel<ForkedHeap<false, false>, 2> parent_uses("heap.fork.parent", model::capped(2'000));
const model::Kernel<ForkedHeap<false, true>, 2> parent_destroys("heap.fork.parent.destroy",
                                                                model::capped(2'000));
const model::Kernel<ForkedHeap<true, false>, 2> child_uses("heap.fork", model::capped(2'000));
const model::Kernel<ForkedHeap<true, true>, 2> child_destroys("heap.fork.destroy", model::capped(2'000));

// ---- a row of heaps

using Lists = Compose<StaticBufferHeap<1_KiB>, Freelist>;

/// A row of heaps, one of which all threads share, and a row in which each may have its own. Blocks go from thread to
/// thread.
template <class Heaps>
struct Row {
    static constexpr std::size_t block = 48;
    Heaps heaps;
    void *blocks[8] = {};

    Row() {
        for (unsigned i = 0; i < 2; ++i) {
            model::as_thread(i, [&] {
                malloc(i);
                malloc(2 + i);
            });
        }
    }
    void malloc(unsigned i) {
        blocks[i] = heaps.malloc(block);
        model::check(blocks[i] != nullptr, "no memory");
        static_cast<unsigned *>(blocks[i])[5] = i;
    }
    void free(unsigned i) {
        model::check(static_cast<unsigned *>(blocks[i])[5] == i, "somebody else has written into a block");
        void *const p = blocks[i];
        blocks[i] = nullptr;
        heaps.free(p);
    }
    void thread(unsigned i) { // a block of the other's, one of its own; and two again
        free(1 - i);
        free(2 + i);
        malloc(4 + i);
        malloc(6 + i);
    }
    void finish() {
        for (unsigned i = 0; i < 8; ++i) {
            for (unsigned k = i + 1; k < 8; ++k) {
                model::check(blocks[i] == nullptr || blocks[i] != blocks[k], "a block was handed out twice");
            }
        }
    }
};
const model::Kernel<Row<Compose<Lists, ThreadPrivate<1>>>, 2> row_shared("hashed.private.shared",
                                                                         model::capped(3'000));
const model::Kernel<Row<Compose<Lists, ThreadPrivate<16>>>, 2> row_private("hashed.private",
                                                                           model::capped(3'000));
const model::Kernel<Row<Compose<Lists, ThreadOwned<1>>>, 2> row_owned_shared("hashed.owned.shared",
                                                                             model::capped(3'000));
const model::Kernel<Row<Compose<Lists, ThreadOwned<16>>>, 2> row_owned("hashed.owned", model::capped(3'000));

/// A fork by a thread that has all heaps: in the child they are whole.
template <class Heaps, bool Child>
struct ForkedRow : Row<Heaps> {
    void thread(unsigned i) {
        if (i == 1) {
            this->free(0);
            this->malloc(4);
            return;
        }
        this->heaps.lock_all();
        if (Child) {
            model::fork_alone();
        }
        this->heaps.unlock_all(Child ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
        this->malloc(5);
        this->free(1);
        this->malloc(6);
        this->malloc(7);
    }
};
const model::Kernel<ForkedRow<Compose<Lists, ThreadPrivate<2>>, true>, 2> row_fork("hashed.private.fork",
                                                                                   model::capped(3'000));
const model::Kernel<ForkedRow<Compose<Lists, ThreadOwned<2>>, true>, 2> owned_fork("hashed.owned.fork",
                                                                                   model::capped(3'000));
const model::Kernel<ForkedRow<Compose<Lists, ThreadOwned<2>>, false>, 2>
    owned_parent("hashed.owned.fork.parent", model::capped(3'000));

} // namespace
