// SPDX-License-Identifier: MIT
//
// What the concepts accept, and the near misses that they must refuse. Nearly all of it happens in the
// compiler.
#include <cairn/core/archetype.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <memory>

namespace {

using namespace cairn;

struct Plain {
    void *malloc(std::size_t);
    void free(void *);
};

// A heap.
struct Static {
    static void *malloc(std::size_t);
    static void free(void *);
};
struct WithDefaults {
    void *malloc(std::size_t, int = 0);
    void free(void *, int = 0);
};
struct Throwing {
    void *malloc(std::size_t) noexcept(false);
    void free(void *) noexcept(false);
};
struct Aligned64 : Plain {
    static constexpr std::size_t alignment = 64;
};
static_assert(Heap<Plain> && Heap<Static> && Heap<WithDefaults> && Heap<Throwing> && Heap<Aligned64>);
static_assert(Heap<Archetype<>> && Heap<SelfSizedArchetype>);

// Not a heap.
struct Empty {};
struct NoFree {
    void *malloc(std::size_t);
};
struct NoMalloc {
    void free(void *);
};
struct ReturnsChar {
    char *malloc(std::size_t);
    void free(void *);
};
struct ReturnsConst {
    const void *malloc(std::size_t);
    void free(void *);
};
struct ReturnsBool {
    void *malloc(std::size_t);
    bool free(void *);
};
struct FreesChar {
    void *malloc(std::size_t);
    void free(char *);
};
struct WantsTwo {
    void *malloc(std::size_t, std::size_t);
    void free(void *);
};
class Private {
    void *malloc(std::size_t);
    void free(void *);
};
class NotDestructible {
    ~NotDestructible() = default;

public:
    void *malloc(std::size_t);
    void free(void *);
};
struct Deleted : Plain {
    void *malloc(std::size_t) = delete;
};
struct OddAlignment : Plain {
    static constexpr std::size_t alignment = 24;
};
struct NoAlignment : Plain {
    static constexpr std::size_t alignment = 0;
};
static_assert(!Heap<int> && !Heap<void> && !Heap<void *> && !Heap<Empty> && !Heap<NoFree> && !Heap<NoMalloc>);
static_assert(!Heap<ReturnsChar> && !Heap<ReturnsConst> && !Heap<ReturnsBool> && !Heap<FreesChar>);
static_assert(!Heap<WantsTwo> && !Heap<Private> && !Heap<NotDestructible> && !Heap<Deleted>);
static_assert(!Heap<OddAlignment> && !Heap<NoAlignment>);
struct Final final : Plain {};
static_assert(!Heap<Plain &> && !Heap<Final>, "no layer could derive from it");
static_assert(!Heap<const Plain>, "malloc changes a heap");

static_assert(alignment_of<Plain> == alignof(std::max_align_t) && alignment_of<Aligned64> == 64);

// Capabilities: each alone, and each only on a heap.
static_assert(capabilities_of<Plain> == Capability::none);

struct Sized : Plain {
    std::size_t getSize(void *) const;
};
struct SizedStatic : Plain {
    static std::size_t getSize(const void *);
};
struct SizedNotConst : Plain {
    std::size_t getSize(void *);
};
struct SizedInt : Plain {
    int getSize(void *) const;
};
struct SizedNoHeap {
    std::size_t getSize(void *) const;
};
static_assert(SizedHeap<Sized> && SizedHeap<SizedStatic> && capabilities_of<Sized> == Capability::sized);
static_assert(!SizedHeap<Plain> && !SizedHeap<SizedNotConst> && !SizedHeap<SizedInt> &&
              !SizedHeap<SizedNoHeap>);

struct RecordA;
struct RecordB;
struct SelfSizedA : SizedStatic {
    using SizeRecord = RecordA;
};
struct SelfSizedB : SizedStatic {
    using SizeRecord = RecordB;
};
struct NeedsObject : Sized {
    using SizeRecord = RecordA;
};
static_assert(SelfSizedHeap<SelfSizedA> && SelfSizedHeap<SelfSizedB>);
static_assert(!SelfSizedHeap<SizedStatic>, "does not say how");
static_assert(!SelfSizedHeap<NeedsObject>, "asks the heap, not the block");
static_assert(SameSizeRecord<SelfSizedA, SelfSizedA> && !SameSizeRecord<SelfSizedA, SelfSizedB>);
static_assert(!SameSizeRecord<SelfSizedA, NeedsObject> && !SameSizeRecord<NeedsObject, SelfSizedA>);

struct Clearable : Plain {
    void clear();
};
struct ClearsSome : Plain {
    bool clear();
};
struct ClearsOne : Plain {
    void clear(void *);
};
static_assert(ClearableHeap<Clearable> && capabilities_of<Clearable> == Capability::clearable);
static_assert(!ClearableHeap<Plain> && !ClearableHeap<ClearsSome> && !ClearableHeap<ClearsOne>);

struct Memalign : Plain {
    void *memalign(std::size_t, std::size_t);
};
struct MemalignOne : Plain {
    void *memalign(std::size_t);
};
struct MemalignInt : Plain {
    int memalign(std::size_t, std::size_t);
};
static_assert(AlignedHeap<Memalign> && capabilities_of<Memalign> == Capability::aligned);
static_assert(!AlignedHeap<Plain> && !AlignedHeap<MemalignOne> && !AlignedHeap<MemalignInt>);

struct Reallocating : Plain {
    void *reallocate(void *, std::size_t);
};
struct ReallocateSwapped : Plain {
    void *reallocate(std::size_t, void *);
};
struct ReallocateInPlace : Plain {
    bool reallocate(void *, std::size_t);
};
static_assert(ReallocatingHeap<Reallocating> && capabilities_of<Reallocating> == Capability::reallocating);
static_assert(!ReallocatingHeap<Plain> && !ReallocatingHeap<ReallocateSwapped> &&
              !ReallocatingHeap<ReallocateInPlace>);

struct Zeroing : Plain {
    void *malloc_zeroed(std::size_t);
};
struct ZeroingNothing : Plain {
    void malloc_zeroed(std::size_t);
};
static_assert(ZeroingHeap<Zeroing> && capabilities_of<Zeroing> == Capability::zeroing);
static_assert(!ZeroingHeap<Plain> && !ZeroingHeap<ZeroingNothing>);

struct Array : Plain {
    void *calloc(std::size_t, std::size_t);
};
struct ArrayOne : Plain {
    void *calloc(std::size_t);
};
static_assert(ArrayHeap<Array> && capabilities_of<Array> == Capability::array);
static_assert(!ArrayHeap<Plain> && !ArrayHeap<ArrayOne>);

struct Owning : Plain {
    bool owns(const void *) const;
};
struct OwnsNotConst : Plain {
    bool owns(const void *);
};
struct OwnsWritable : Plain {
    bool owns(void *) const;
};
struct OwnsCount : Plain {
    int owns(const void *) const;
};
static_assert(OwningHeap<Owning> && capabilities_of<Owning> == Capability::owning);
static_assert(!OwningHeap<Plain> && !OwningHeap<OwnsNotConst> && !OwningHeap<OwnsWritable> &&
              !OwningHeap<OwnsCount>);

struct Bounded : Plain {
    std::size_t remaining() const;
};
struct BoundedNotConst : Plain {
    std::size_t remaining();
};
struct BoundedByMember : Plain {
    std::size_t remaining;
};
static_assert(BoundedHeap<Bounded> && capabilities_of<Bounded> == Capability::bounded);
static_assert(!BoundedHeap<Plain> && !BoundedHeap<BoundedNotConst> && !BoundedHeap<BoundedByMember>);

// The archetype offers what its set says, one at a time.
template <unsigned... Bit>
constexpr bool one_at_a_time(std::integer_sequence<unsigned, Bit...>) {
    return ((capabilities_of<Archetype<Capability{1u << Bit}>> == Capability{1u << Bit}) && ...);
}
static_assert(one_at_a_time(std::make_integer_sequence<unsigned, 8>()));
static_assert(static_cast<unsigned>(Capability::all) == (1u << 8) - 1);
static_assert(!std::copyable<Archetype<>> && !std::movable<Archetype<>>);

TEST(Archetype, IsOutOfMemory) {
    const auto heap = std::make_unique<Archetype<Capability::all>>();
    EXPECT_EQ(heap->malloc(1), nullptr);
    EXPECT_EQ(heap->memalign(64, 1), nullptr);
    EXPECT_EQ(heap->reallocate(nullptr, 1), nullptr);
    EXPECT_EQ(heap->malloc_zeroed(1), nullptr);
    EXPECT_EQ(heap->calloc(1, 1), nullptr);
    EXPECT_EQ(heap->remaining(), 0u);
    EXPECT_FALSE(heap->owns(heap.get()));
}

} // namespace
