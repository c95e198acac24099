// SPDX-License-Identifier: MIT
//
// Empties: how the global heap's superblocks without live blocks are used again, for another class or as free runs.
//
// Adds:    make_from_empty, a superblock of a class out of one without live blocks; make_from_run, a superblock out
//          of dirty memory, else of fresh memory; make_room, by which superblocks without live blocks become runs;
//          pay, by which free memory goes back to the operating system as other memory is touched.
// Needs:   SuperblockMaker, Stock and the lock over it.
// Keeps:   fresh memory is not taken while a superblock without live blocks would do.
// Threads: any.
// Errors:  nullptr when out of memory.
// Cost:    a lock for each superblock. A superblock that goes from one class to another does not pass through the run
//          heap.
// Source:  Hoard, section 3: a superblock without live blocks may be used for any class.
#pragma once

#include <cairn/superblock/maker.hpp>
#include <cairn/superblock/stock.hpp>

namespace cairn {

template <class Classes, class Discipline>
class Empties {
public:
    using Maker = SuperblockMaker<Classes>;

    constexpr Empties(Maker &maker, Stock<Classes, Discipline> &stock, sync::Lock &lock)
        : maker_(maker), stock_(stock), lock_(lock) {}

    /// A superblock of the class for `heap`, without any carved block, made of one without live blocks. nullptr where
    /// there is none to be made into it, or where dirty runs would do as well.
    OwnerLine *make_from_empty(unsigned size_class, unsigned heap) {
        const unsigned slots = Maker::slots_of_class(size_class);
        if (slots != 1) {
            return make_long_from_empty(slots, size_class, heap);
        }
        return maker_.used_memory() < slot_size ? make_short_from_empty(size_class, heap) : nullptr;
    }

    /// A superblock of the class for `heap`, without any carved block, made of a run; for a caller that got nothing
    /// from make_from_empty(). nullptr when out of memory.
    OwnerLine *make_from_run(unsigned size_class, unsigned heap) {
        if (Maker::slots_of_class(size_class) != 1) {
            make_room(SIZE_MAX);
        }
        return maker_.make(size_class, heap);
    }

    /// Makes superblocks without live blocks free runs until `bytes` of dirty memory are in free runs. SIZE_MAX, for
    /// all of them, where a run of several slots is needed: neighbouring ones join.
    void make_room(std::size_t bytes) {
        while (maker_.used_memory() < bytes) {
            OwnerLine *const s = take_any();
            if (s == nullptr) {
                return;
            }
            release_run(s);
        }
    }

    /// `bytes` of superblocks were touched that were fresh: memory grows, though no thread takes a run. If as much
    /// free memory is dirty, as much goes back to the operating system: runs first, then superblocks without live
    /// blocks. Of those only the touched bytes count.
    void pay(std::size_t bytes) {
        const std::size_t more = maker_.touch(bytes);
        if (more == 0) {
            return;
        }
        const std::size_t runs = maker_.used_memory();
        const std::size_t all = maker_.price(more, runs + stock_.empty_touched());
        if (all != 0) {
            purge(all - maker_.price(more, runs));
        }
        maker_.pay();
    }

    /// Formats a superblock without live blocks for another class. What was touched of it stays known.
    void change_class(OwnerLine *s, unsigned size_class, unsigned heap) {
        superblock::check_all_free(s);
        maker_.format(s, size_class, heap, s->touched);
    }

private:
    /// A superblock of one slot, of any class before; nullptr when there is none. Longer ones on the way become runs.
    OwnerLine *make_short_from_empty(unsigned size_class, unsigned heap) {
        while (OwnerLine *const s = take_any(heap)) {
            if (s->slots == 1) {
                change_class(s, size_class, heap);
                return s;
            }
            release_run(s);
            if (maker_.used_memory() >= slot_size) {
                break;
            }
        }
        return nullptr;
    }

    /// A superblock of `slots` slots, of any class before; nullptr when there is none.
    OwnerLine *make_long_from_empty(unsigned slots, unsigned size_class, unsigned heap) {
        OwnerLine *s = nullptr;
        if (stock_.empty_bytes() != 0) {
            const unsigned last = Maker::last_class_of(slots);
            sync::Guard hold(lock_);
            for (unsigned c = Maker::last_class_of(slots / 2) + 1; c <= last && s == nullptr; ++c) {
                s = stock_.take_empty(c, heap);
            }
        }
        if (s != nullptr) {
            change_class(s, size_class, heap);
        }
        return s;
    }

    /// Purges superblocks without live blocks, until `bytes` that they had touched have gone back.
    void purge(std::size_t bytes) {
        for (std::size_t gone = 0; gone < bytes;) {
            OwnerLine *const s = take_any();
            if (s == nullptr) {
                return;
            }
            superblock::check_all_free(s);
            gone += s->touched;
            maker_.purge(s);
        }
    }

    /// A superblock without live blocks, taken out of the stock: one that `heap` gave up, if there is one in its
    /// class. nullptr when there is none.
    OwnerLine *take_any(unsigned heap = no_heap_) {
        if (CAIRN_LIKELY(stock_.empty_bytes() == 0)) {
            return nullptr;
        }
        sync::Guard hold(lock_);
        return stock_.take_any_empty(heap);
    }

    /// The superblock becomes a free run.
    void release_run(OwnerLine *s) {
        superblock::check_all_free(s);
        maker_.release_run(s);
    }

    static constexpr unsigned no_heap_ = 0; ///< heaps are numbered from 1

    Maker &maker_;
    Stock<Classes, Discipline> &stock_;
    sync::Lock &lock_;
};

} // namespace cairn
