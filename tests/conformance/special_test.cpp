// SPDX-License-Identifier: MIT
//
// Bounded lists, chunks, shared heaps, heaps that throw, stacks.
#include "suite.hpp"

#include <cairn/adapt/throw_exception.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/system_malloc.hpp>

namespace cairn::conformance {

struct BoundedFreelistRow : On<BoundedFreelist<20>> {
    static constexpr std::size_t fixed_size = 48;
};

struct TinyBoundedFreelistRow : On<Bump<4_KiB>, BoundedFreelist<1>> {
    static constexpr std::size_t fixed_size = 1; // less than the link of a free block
    static constexpr bool reuses = false;        // what the list does not keep is the region's until the end
    static constexpr bool releases_live = true;
};

/// Slabs need memalign, which the watched source has not: here with room to spare, and a note before the block.
template <Heap Super>
class AlignHeap : private Super {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;

    void *malloc(std::size_t size) { return memalign(alignment, size); }
    void *memalign(std::size_t wanted, std::size_t size) {
        if (size > PTRDIFF_MAX - wanted) {
            return nullptr;
        }
        auto *const base = static_cast<char *>(Super::malloc(size + wanted));
        if (base == nullptr) {
            return nullptr;
        }
        auto **const block = reinterpret_cast<void **>(base + wanted - address_of(base) % wanted);
        block[-1] = base;
        return block;
    }
    void free(void *p) { Super::free(static_cast<void **>(p)[-1]); }
};
struct Align {
    template <class Super>
    using on = AlignHeap<Super>;
};

struct ChunkRow : On<Align, ChunkPool<4_KiB>> {
    static constexpr std::size_t max_size = 4_KiB;
    static constexpr bool releases_live = true;
};

/// Many chunks a slab, and as small as the link of a free one.
struct SmallChunkRow : On<Align, ChunkPool<8, 1_KiB>> {
    static constexpr std::size_t fixed_size = 8;
    static constexpr bool releases_live = true;
};

struct UniqueRow : On<SizeHeader, Unique<>> {
    static constexpr bool has_many = false;
};

/// All of the suite knows nullptr only, so the exception is turned back into it.
template <Heap Super>
class CatchHeap : private Super {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;

    void *malloc(std::size_t size) {
        return caught([&] { return Super::malloc(size); });
    }
    void free(void *p) { Super::free(p); }
    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return caught([&] { return Super::memalign(wanted, size); });
    }
    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        return caught([&] { return Super::reallocate(p, size); });
    }
    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return caught([&] { return Super::malloc_zeroed(size); });
    }
    std::size_t getSize(void *p) const
        requires SizedHeap<Super>
    {
        return Super::getSize(p);
    }
    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return Super::owns(p);
    }
    void clear()
        requires ClearableHeap<Super>
    {
        Super::clear();
    }

private:
    template <class F>
    static void *caught(F ask) {
        try {
            void *const block = ask();
            EXPECT_NE(block, nullptr);
            return block;
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }
};
struct Catch {
    template <class Super>
    using on = CatchHeap<Super>;
};

struct ThrowExceptionRow : On<SizeHeader, ThrowException, Catch> {};
struct ThrowExceptionOnMallocRow : Row<Compose<MallocHeap, ThrowException, Catch>> {};

/// Stacks are heaps by XallocHeap, which frees what the suite does in the order that they need.
struct FixedXallocRow : On<FixedStack<64_MiB>, Xalloc> {
    static constexpr std::size_t max_size = 32_MiB;
    static constexpr bool releases_live = true;
};

struct ObstackXallocRow : On<Obstack<>, Xalloc> {
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<BoundedFreelistRow, TinyBoundedFreelistRow, ChunkRow, SmallChunkRow, UniqueRow,
                            ThrowExceptionRow, ThrowExceptionOnMallocRow, FixedXallocRow, ObstackXallocRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Special, Conformance, Rows);

} // namespace cairn::conformance
