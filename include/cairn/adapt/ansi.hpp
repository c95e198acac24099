// SPDX-License-Identifier: MIT
//
// AnsiHeap: malloc, free, calloc and realloc as the C standard requires them, on a heap with fewer guarantees.
//
// Adds:    a distinct block for malloc(0); free(nullptr); calloc with a check of overflow; reallocate with the cases of
//          C (a null pointer; a size of 0; failure leaves the block unchanged); malloc_zeroed. memalign, owns and clear
//          where the heap below has them.
// Needs:   a heap with getSize.
// Keeps:   no request above PTRDIFF_MAX reaches the heap below, so that a difference of pointers into a block cannot
//          overflow. The C interface sets errno, not this layer.
// Threads: those of the heap below, whose locks are held across a fork where it can hold them.
// Errors:  nullptr, or the exception of the heap below; neither for a block that becomes shorter, if the heap below has
//          no reallocate.
// Cost:    two comparisons a malloc, one a free. reallocate keeps the block if the new size fills at least
//          half of it.
// Source:  Heap Layers, Table 1: ANSIWrapper. ISO C17, section 7.22.3.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/move_block.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/across_fork.hpp>

#include <cstdint>
#include <cstring>

namespace cairn {

template <SizedHeap Super>
class CAIRN_BY_EXCEPTIONS AnsiHeap : private Super {
public:
    using Super::Super;
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool takes_others = TakesOthers<Super>;

    void *malloc(std::size_t size) {
        return CAIRN_UNLIKELY(size > max_size_) ? nullptr : Super::malloc(some(size));
    }

    void free(void *p) {
        if (CAIRN_LIKELY(p != nullptr)) {
            Super::free(p);
        }
    }

    void *malloc_zeroed(std::size_t size) {
        if (size > max_size_) {
            return nullptr;
        }
        if constexpr (ZeroingHeap<Super>) {
            return Super::malloc_zeroed(some(size));
        } else {
            void *const block = Super::malloc(some(size));
            return block == nullptr ? nullptr : std::memset(block, 0, size);
        }
    }

    void *calloc(std::size_t count, std::size_t size) {
        std::size_t bytes = 0;
        return __builtin_mul_overflow(count, size, &bytes) ? nullptr : malloc_zeroed(bytes);
    }

    void *reallocate(void *p, std::size_t size) {
        if (p == nullptr) {
            return malloc(size);
        }
        if (size == 0) {
            Super::free(p);
            return nullptr;
        }
        if (size > max_size_) {
            return nullptr;
        }
        if constexpr (ReallocatingHeap<Super>) {
            return Super::reallocate(p, size);
        } else {
            return fit(p, size);
        }
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return size > max_size_ ? nullptr : Super::memalign(wanted, some(size));
    }

    std::size_t getSize(void *p) const { return p == nullptr ? 0 : Super::getSize(p); }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return p != nullptr && Super::owns(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        Super::clear();
    }

    void lock_all()
        requires sync::ForkLocks<Super>
    {
        Super::lock_all();
    }
    void unlock_all(sync::AfterFork side)
        requires sync::ForkLocks<Super>
    {
        Super::unlock_all(side);
    }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        Super::begin_in_child();
    }

private:
    static constexpr std::size_t max_size_ = PTRDIFF_MAX;

    /// malloc(0) asks for a byte: two blocks of one byte have different addresses, two empty blocks might not.
    static constexpr std::size_t some(std::size_t size) { return size == 0 ? 1 : size; }

    void *fit(void *p, std::size_t size) {
        const std::size_t room = Super::getSize(p);
        const bool fits_well = size <= room && size >= room / 2;
        return fits_well ? p : move_block(static_cast<Super &>(*this), p, room, size);
    }
};

struct Ansi {
    template <class Super>
    using on = AnsiHeap<Super>;
};

} // namespace cairn
