// SPDX-License-Identifier: MIT
//
// Empties: what becomes of the global heap's superblocks without live blocks when memory is wanted.
//
// Adds:    remake (a superblock of a class out of one without live blocks), make (out of used memory, else of memory that nothing
//          has used yet), make_room (those without live blocks become runs), pay (memory that lies free goes back).
// Needs:   SuperblockMaker, Stock and the lock over it.
// Keeps:   memory that nothing has used yet is not taken while a superblock without live blocks would do.
// Threads: any.
// Errors:  nullptr when out of memory.
// Cost:    a lock for each superblock; one that goes from class to class does not pass the run heap.
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

    /// Without any carved block, for `heap`, where that takes no memory that nothing has used yet; nullptr where it would, or runs of
    /// used memory would do.
    OwnerLine *make_from_empty(unsigned size_class, unsigned heap) {
        const unsigned slots = Maker::slots_of_class(size_class);
        if (slots != 1) {
            return make_long_from_empty(slots, size_class, heap);
        }
        return maker_.used_memory() < slot_size ? make_short_from_empty(size_class, heap) : nullptr;
    }

    /// The same from a run, where there was nothing to remake.
    OwnerLine *make_from_run(unsigned size_class, unsigned heap) {
        if (Maker::slots_of_class(size_class) != 1) {
            make_room(SIZE_MAX);
        }
        return maker_.make(size_class, heap);
    }

    /// Superblocks without live blocks become free runs, until so much used memory lies in those. All of them (SIZE_MAX) where
    /// a run of several slots is needed: it takes neighbours.
    void make_room(std::size_t bytes) {
        while (maker_.used_memory() < bytes) {
            OwnerLine *const s = take_any();
            if (s == nullptr) {
                return;
            }
            release_run(s);
        }
    }

    /// So many bytes of superblocks were touched for the first time since they were made, or since that was given back: memory
    /// grows, though nobody takes a run. Paid with what lies free, if that is much: runs first, then what superblocks without
    /// live blocks have touched, which is seldom all of them.
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

    /// For another class; what was touched of it stays known.
    void change_class(OwnerLine *s, unsigned size_class, unsigned heap) {
        superblock::check_all_free(s);
        maker_.format(s, size_class, heap, s->touched);
    }

private:
    /// One of one slot, of whatever class it was; nullptr when there is none. Longer ones become runs.
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

    /// One of so many slots, of whatever class it was; nullptr when there is none.
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

    /// Superblocks without live blocks, until so many bytes that they have touched went back.
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

    OwnerLine *take_any(unsigned heap = no_heap_) {
        if (CAIRN_LIKELY(stock_.empty_bytes() == 0)) {
            return nullptr;
        }
        sync::Guard hold(lock_);
        return stock_.take_any_empty(heap);
    }

    void release_run(OwnerLine *s) {
        superblock::check_all_free(s);
        maker_.release_run(s);
    }

    static constexpr unsigned no_heap_ = 0;

    Maker &maker_;
    Stock<Classes, Discipline> &stock_;
    sync::Lock &lock_;
};

} // namespace cairn
