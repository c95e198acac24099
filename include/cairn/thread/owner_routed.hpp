// SPDX-License-Identifier: MIT
//
// Owner-routed heap: gives each thread a heap of its own, serves each size from the level for it, and returns each
// freed block to the superblock or run that it came from, after checking that it came from there.
//
// malloc, memalign, malloc_zeroed and reallocate come in parts, for C functions (src/malloc/malloc.cpp) whose fast
// paths need no stack frame. `try_x` is the inlined fast path; it calls nothing, and answers nullptr where the next
// part is to be tried. `x_slow` is the slow path, a function of its own, to which the C function jumps at its end: so
// the fast path saves no registers for it. `x_later` stands between them: it tries the fast path for medium blocks
// (try_malloc_medium), and then jumps to `x_slow`. Each part has the arguments of the whole, in the same registers.
//
// Adds:    the whole heap interface (malloc, free, getSize, memalign, reallocate, malloc_zeroed).
// Needs:   PerThread and Levels; `Hooks` (Routes).
// Keeps:   a pointer that malloc did not return, or whose block is free already, ends the program with one line.
// Threads: any. A fast path is a section (sync::Presence); the slow path after it ends the section.
// Errors:  nullptr when out of memory; errno is set by the C functions.
// Cost:    allocation and the owner's free: no lock, no atomic read-modify-write. A remote free: one compare-exchange.
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

    /// The fast path of malloc for small blocks.
    CAIRN_INLINE void *try_malloc(std::size_t size) {
        return CAIRN_LIKELY(size <= Classes::table_limit) ? threads_.mine()->try_malloc_small(size) : nullptr;
    }
    /// The fast path of malloc for medium blocks: more than Classes::table_limit, up to Classes::largest.
    CAIRN_INLINE void *try_malloc_medium(std::size_t size) {
        const bool is_medium = size > Classes::table_limit && size <= Classes::largest;
        return is_medium ? threads_.mine()->try_malloc_class(Classes::class_of(size)) : nullptr;
    }
    /// Any size, after the fast paths found no block. Ends the section that they have begun.
    CAIRN_NOINLINE void *malloc_slow(std::size_t size) {
        threads_.mine()->presence().end();
        if (size > Classes::largest) {
            bool clean = false;
            return this->malloc_long(size, 1, clean);
        }
        return this->malloc_of_class(Classes::class_of(size));
    }

    /// A block aligned to `alignment`, a power of two.
    void *memalign(std::size_t alignment, std::size_t size) {
        void *const p = try_memalign(alignment, size);
        return CAIRN_LIKELY(p != nullptr) ? p : memalign_slow(alignment, size);
    }

    /// The fast path of memalign: the size is rounded up to a multiple of the alignment, since blocks of up to
    /// Classes::table_limit are aligned as their size is.
    CAIRN_INLINE void *try_memalign(std::size_t alignment, std::size_t size) {
        const std::size_t rounded = align_up(size, alignment);
        return CAIRN_LIKELY(rounded != 0) ? try_malloc(rounded) : nullptr; // 0 bytes, or too many
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

    /// A block of zeroed memory. Pages that are fresh from the kernel are not cleared again.
    void *malloc_zeroed(std::size_t size) {
        void *const p = try_malloc_zeroed(size);
        return CAIRN_LIKELY(p != nullptr) ? p : malloc_zeroed_slow(size);
    }

    /// The fast path of malloc_zeroed.
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

    /// The contents of the live block `p` in a block of `size` bytes, in place where possible. nullptr when out of
    /// memory: `p` is unchanged.
    void *reallocate(void *p, std::size_t size) {
        const std::size_t before = quick_size(p);
        return CAIRN_LIKELY(stays(before, size)) ? p : reallocate_slow(p, before, size);
    }

    /// The usable bytes of a live block; 0 where quick_find() does not know the block.
    CAIRN_INLINE static std::size_t quick_size(void *p) {
        const OwnerLine *const s = superblock::quick_find(address_of(p));
        return CAIRN_LIKELY(s != nullptr) ? shared_of(s)->block_size : 0;
    }
    /// Whether a block of `before` usable bytes is kept for `size` bytes: it is long enough, and half of it or more is
    /// used. Not if 0.
    CAIRN_INLINE static bool stays(std::size_t before, std::size_t size) {
        return size <= before && size >= before / 2 && before != 0;
    }
    /// reallocate() for a block that does not stay. `before`: from quick_size(), which may be 0.
    void *reallocate_slow(void *p, std::size_t before, std::size_t size) {
        if (CAIRN_UNLIKELY(before == 0)) {
            const Found found = superblock::find(p, "realloc of");
            if (found.kind != Found::block) {
                return reallocate_long(found, p, size);
            }
            before = this->size_of(found, p, "realloc of");
        }
        const bool no_shorter = before == Classes::size_of(0) && size < before; // no class has any
        return no_shorter || stays(before, size) ? p : move(p, before, size);
    }

private:
    CAIRN_NOINLINE void *malloc_later(std::size_t size) {
        void *const p = try_malloc_medium(size);
        return CAIRN_LIKELY(p != nullptr) ? p : malloc_slow(size);
    }

    CAIRN_NOINLINE void *reallocate_long(const Found &found, void *p, std::size_t size) {
        const std::size_t before = this->size_of(found, p, "realloc of");
        const bool same_length = size <= before && before - size <= before / 8;
        if (void *const same = same_length ? p : resize(found, p, before, size)) {
            return same;
        }
        const bool stay = found.kind == Found::large && stays(before, size); // a run is not worth the copy
        void *const to = stay ? p : move(p, before, size);
        // Out of memory: what malloc has given up may have lain behind the block.
        return to != nullptr ? to : resize(found, p, before, size);
    }

    /// A long block of `before` bytes with a new size, without copying, where that is possible; else nullptr.
    void *resize(const Found &found, void *p, std::size_t before, std::size_t size) {
        void *const same = this->levels_.long_blocks().resize(found, p, before, size);
        if (same != nullptr && size < before) {
            this->handle_surplus();
        } else if (same != nullptr) {
            this->handle_growth();
        }
        return same;
    }

    /// How many bytes more than `size` a block gets when it moves. One that has grown by little will soon grow again:
    /// with an eighth more, however small the steps, at most nine times its final length is copied in all.
    static std::size_t room_to_grow(std::size_t before, std::size_t size) {
        return size > before && size - before <= before / 8 ? size / 8 : 0;
    }

    /// The block's contents in a new block of `size` bytes or more; the old one is freed.
    void *move(void *p, std::size_t before, std::size_t size) {
        const std::size_t room = room_to_grow(before, size);
        void *to = malloc(size + room);
        if (CAIRN_UNLIKELY(to == nullptr && room != 0)) {
            to = malloc(size);
        }
        if (CAIRN_UNLIKELY(to == nullptr)) {
            return size <= before ? p : nullptr; // without memory a block that is too long stays
        }
        std::memcpy(to, p, size < before ? size : before);
        this->free(p);
        return to;
    }
};

} // namespace cairn
