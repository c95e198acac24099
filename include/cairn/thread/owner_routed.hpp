// SPDX-License-Identifier: MIT
//
// Owner-routed heap: gives each thread a heap of its own, routes each size to the level that serves it, and
// each freed pointer back to the superblock or run that it came from, after checking that it came from there.
//
// Adds:    the whole heap interface (malloc, free, getSize, memalign, reallocate, malloc_zeroed).
// Needs:   PerThread and Levels; a `Hooks` that hears of threads, of growth and of free memory.
// Keeps:   a pointer that malloc did not return, or that is free already, stops the program with one line.
// Threads: any. A fast path is a section (sync::Presence); where it goes on as a slow path, that ends it.
// Errors:  nullptr when out of memory; errno is the business of the C interface.
// Cost:    malloc, memalign, malloc_zeroed and the owner's free: no lock, no atomic read-modify-write; a remote free: one
//          compare-exchange.
// Source:  Hoard, section 3: blocks return to the superblock they came from.
#pragma once

#include <cairn/platform/clear.hpp>
#include <cairn/platform/in_memory.hpp>
#include <cairn/thread/freeing.hpp>

#include <cstring>

namespace cairn {

template <class Classes, class Discipline, class Hooks>
class OwnerRouted : public Freeing<Classes, Discipline, Hooks> {
    using Base = Freeing<Classes, Discipline, Hooks>;
    using Base::threads_;
    using typename Base::Found;

public:
    constexpr OwnerRouted() = default;

    CAIRN_INLINE void *malloc(std::size_t size) {
        void *const p = try_malloc(size);
        return CAIRN_LIKELY(p != nullptr) ? p : malloc_later(size);
    }

    /// The parts of malloc, each for what those before had no block for; for callers that make tail calls of the later ones.
    CAIRN_INLINE void *try_malloc(std::size_t size) {
        return CAIRN_LIKELY(size <= Classes::table_limit) ? threads_.mine()->try_malloc_small(size) : nullptr;
    }
    CAIRN_INLINE void *try_malloc_medium(std::size_t size) {
        const bool is_long = size > Classes::table_limit && size <= Classes::largest;
        return is_long ? threads_.mine()->try_malloc_class(Classes::class_of(size)) : nullptr;
    }
    CAIRN_NOINLINE void *malloc_slow(std::size_t size) {
        threads_.mine()->presence().end();
        if (size > Classes::largest) {
            bool clean = false;
            return this->malloc_long(size, 1, clean);
        }
        return this->malloc_of_class(Classes::class_of(size));
    }

    /// `alignment` is a power of two.
    void *memalign(std::size_t alignment, std::size_t size) {
        void *const p = try_memalign(alignment, size);
        return CAIRN_LIKELY(p != nullptr) ? p : memalign_slow(alignment, size);
    }

    /// Its parts, as those of malloc. Blocks of up to Classes::table_limit are aligned as their size is.
    CAIRN_INLINE void *try_memalign(std::size_t alignment, std::size_t size) {
        const std::size_t rounded = align_up(size, alignment);
        return CAIRN_LIKELY(rounded != 0) ? try_malloc(rounded)
                                          : nullptr; // nothing is asked for, or too much
    }
    CAIRN_NOINLINE void *memalign_slow(std::size_t alignment, std::size_t size) {
        if (CAIRN_LIKELY(this->serves_from_superblock(size, alignment))) {
            const unsigned c = Classes::aligned_class_of(size, alignment);
            void *const p = threads_.mine()->try_malloc_class(c);
            return CAIRN_LIKELY(p != nullptr) ? p : this->malloc_of_class(c);
        }
        bool clean = false;
        return this->malloc_long(size, alignment, clean);
    }

    /// Zeroed memory; what the kernel has just cleared is not cleared again.
    void *malloc_zeroed(std::size_t size) {
        void *const p = try_malloc_zeroed(size);
        return CAIRN_LIKELY(p != nullptr) ? p : malloc_zeroed_slow(size);
    }

    /// Its parts, as those of malloc.
    CAIRN_INLINE void *try_malloc_zeroed(std::size_t size) {
        void *const p = try_malloc(size);
        return CAIRN_LIKELY(p != nullptr) ? platform::clear_block(p, size) : nullptr;
    }
    CAIRN_NOINLINE void *malloc_zeroed_slow(std::size_t size) {
        if (size > Classes::largest) {
            bool clean = false;
            void *const p = this->malloc_long(size, 1, clean);
            if (p != nullptr && !clean) {
                platform::vm::clear(p, size);
            }
            return p;
        }
        void *const p = malloc_later(size);
        return CAIRN_LIKELY(p != nullptr) ? std::memset(p, 0, size) : nullptr;
    }

    /// A block of `size` with the old one's contents, in place where that is possible; nullptr, and the old
    /// one is untouched, when out of memory. p is a live block.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t before = quick_size(p);
        return CAIRN_LIKELY(stays(before, size)) ? p : reallocate_slow(p, before, size);
    }

    /// Its parts, as those of malloc. The length of a live block, 0 where that takes longer to know.
    CAIRN_INLINE static std::size_t quick_size(void *p) {
        const OwnerLine *const s = superblock::quick_find(address_of(p));
        return CAIRN_LIKELY(s != nullptr) ? shared_of(s)->block_size : 0;
    }
    /// Whether a block of that length does: one that would be half empty is given up for a shorter one.
    CAIRN_INLINE static bool stays(std::size_t before, std::size_t size) {
        return size <= before && size >= before / 2 && before != 0;
    }
    void *reallocate_slow(void *p, std::size_t before, std::size_t size) {
        if (CAIRN_UNLIKELY(before == 0)) {
            const Found found = superblock::find(p, "realloc of");
            if (found.kind != Found::block) {
                return reallocate_long(found, p, size);
            }
            before = this->size_of(found, p, "realloc of");
        }
        return stays(before, size) ? p : move(p, before, size);
    }

private:
    CAIRN_NOINLINE void *malloc_later(std::size_t size) {
        void *const p = try_malloc_medium(size);
        return CAIRN_LIKELY(p != nullptr) ? p : malloc_slow(size);
    }

    CAIRN_NOINLINE void *reallocate_long(const Found &found, void *p, std::size_t size) {
        const std::size_t before = this->size_of(found, p, "realloc of");
        if (size <= before && before - size <= before / 8) {
            return p;
        }
        if (void *const same = this->levels_.long_blocks().resize(found, p, size)) {
            if (size < before) {
                this->handle_surplus();
            } else {
                this->handle_growth();
            }
            return same;
        }
        return stays(before, size) ? p : move(p, before, size); // not worth a copy
    }

    /// What a block gets beyond `size` when it moves. One that has grown by little will soon do so again: with an eighth more at most
    /// nine times its length is copied in all, however small the steps.
    static std::size_t room_to_grow(std::size_t before, std::size_t size) {
        return size > before && size - before <= before / 8 ? size / 8 : 0;
    }

    void *move(void *p, std::size_t before, std::size_t size) {
        const std::size_t room = room_to_grow(before, size);
        void *to = malloc(size + room);
        if (CAIRN_UNLIKELY(to == nullptr && room != 0)) {
            to = malloc(size);
        }
        if (CAIRN_UNLIKELY(to == nullptr)) {
            return size <= before ? p : nullptr; // too long a block is better than none
        }
        std::memcpy(to, p, size < before ? size : before);
        this->free(p);
        return to;
    }
};

} // namespace cairn
