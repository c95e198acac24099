// SPDX-License-Identifier: MIT
//
// Heaps under containers: std::allocator's requirements, over-aligned types, and that everything comes back.
#include <cairn/adapt/pmr.hpp>
#include <cairn/adapt/std_allocator.hpp>
#include <cairn/core/capability.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/source/system_malloc.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

using namespace cairn;

namespace {

/// Counts live blocks; knows no memalign.
class Counting {
public:
    void *malloc(std::size_t size) {
        ++live;
        return below_.malloc(size);
    }
    void free(void *p) {
        --live;
        below_.free(p);
    }
    int live = 0;

private:
    MallocHeap below_;
};
static_assert(capabilities_of<Counting> == Capability::none);

/// With memalign, and the alignment of nothing in particular.
class CountingAligned : public Counting {
public:
    static constexpr std::size_t alignment = 8;
    void *memalign(std::size_t wanted, std::size_t size) {
        ++live;
        ++aligned;
        return below_.memalign(wanted, size);
    }
    int aligned = 0;

private:
    MallocHeap below_;
};
static_assert(AlignedHeap<CountingAligned>);

struct alignas(256) Wide {
    int value[10];
};

template <class H>
class Adaptors : public testing::Test {
protected:
    ~Adaptors() override { EXPECT_EQ(heap.live, 0) << "not everything was given back"; }
    H heap;
};
using Heaps = testing::Types<Counting, CountingAligned>;
TYPED_TEST_SUITE(Adaptors, Heaps);

TYPED_TEST(Adaptors, StandardContainers) {
    std::vector<int, StdAllocator<int, TypeParam>> vector(this->heap);
    std::map<int, int, std::less<>, StdAllocator<std::pair<const int, int>, TypeParam>> map(this->heap);
    std::list<int, StdAllocator<int, TypeParam>> list(this->heap);
    std::deque<Wide, StdAllocator<Wide, TypeParam>> deque(this->heap);
    for (int i = 0; i < 1000; ++i) {
        vector.push_back(i);
        map[i * 7 % 1000] = i;
        list.push_front(i);
        deque.push_back(Wide{{i}});
        ASSERT_TRUE(is_aligned(&deque.back(), alignof(Wide)));
    }
    EXPECT_EQ(std::accumulate(vector.begin(), vector.end(), 0), 499'500);
    EXPECT_EQ(map.size(), 1000u);
    EXPECT_EQ(deque[777].value[0], 777);
    const auto copy = vector;
    EXPECT_EQ(copy, vector);
    EXPECT_GT(this->heap.live, 2000);
}

TYPED_TEST(Adaptors, AllocatorsAreEqualIfTheirHeapIs) {
    TypeParam other;
    const StdAllocator<int, TypeParam> one(this->heap);
    const StdAllocator<char, TypeParam> rebound(one);
    EXPECT_TRUE(one == rebound);
    EXPECT_TRUE(rebound == one);
    EXPECT_FALSE((one == StdAllocator<int, TypeParam>(other)));
    EXPECT_TRUE((one != StdAllocator<int, TypeParam>(other)));
    using Traits = std::allocator_traits<StdAllocator<char, TypeParam>>;
    static_assert(std::same_as<typename Traits::template rebind_alloc<int>, StdAllocator<int, TypeParam>>);
    static_assert(!Traits::is_always_equal::value);
}

TYPED_TEST(Adaptors, AContainerStaysOnItsHeap) {
    using Strings = std::vector<std::vector<int, StdAllocator<int, TypeParam>>,
                                StdAllocator<std::vector<int, StdAllocator<int, TypeParam>>, TypeParam>>;
    using Numbers = typename Strings::value_type;
    TypeParam other;
    {
        Numbers here({1, 2, 3}, this->heap);
        Numbers there({4, 5, 6, 7}, other);
        const Numbers copy(there);
        EXPECT_EQ(&copy.get_allocator().heap(), &other) << "a new one is where its original is";
        here = there;
        EXPECT_EQ(&here.get_allocator().heap(), &this->heap);
        EXPECT_EQ(here, there);
        const int live_there = other.live;
        there.push_back(8);
        here = std::move(there);
        EXPECT_EQ(&here.get_allocator().heap(), &this->heap) << "moved one by one";
        EXPECT_EQ(here, Numbers({4, 5, 6, 7, 8}, this->heap));
        EXPECT_LE(other.live, live_there);

        const int *const place = here.data();
        Numbers next(std::move(here));
        EXPECT_EQ(next.data(), place) << "a new one takes the memory over";
        Numbers same(this->heap);
        same = std::move(next);
        EXPECT_EQ(same.data(), place) << "and so does one on the same heap";
        Numbers swapped({9}, this->heap);
        swapped.swap(same);
        EXPECT_EQ(swapped.data(), place);

        Strings nested(this->heap);
        nested.emplace_back(std::initializer_list<int>{1}, this->heap);
        nested.push_back(swapped);
        EXPECT_EQ(nested[1], swapped);
    }
    EXPECT_EQ(other.live, 0);
    using Traits = std::allocator_traits<StdAllocator<int, TypeParam>>;
    static_assert(!Traits::propagate_on_container_copy_assignment::value &&
                  !Traits::propagate_on_container_move_assignment::value &&
                  !Traits::propagate_on_container_swap::value);
    static_assert(std::is_nothrow_copy_constructible_v<StdAllocator<int, TypeParam>>);
}

TYPED_TEST(Adaptors, MemoryResource) {
    HeapResource resource(this->heap);
    {
        std::pmr::vector<std::pmr::string> strings(&resource);
        std::pmr::unordered_map<int, std::pmr::string> map(&resource);
        for (int i = 0; i < 300; ++i) {
            strings.emplace_back(200, static_cast<char>('a' + i % 26));
            map.emplace(i, "a string that does not fit into the object itself");
        }
        EXPECT_EQ(strings[25], std::pmr::string(200, 'z'));
        EXPECT_EQ(strings[0].get_allocator().resource(), &resource);
        EXPECT_GT(this->heap.live, 600);
    }
    EXPECT_EQ(this->heap.live, 0);

    for (std::size_t wanted = 1; wanted <= 64_KiB; wanted *= 2) {
        for (const std::size_t size : std::vector<std::size_t>{0, 1, 100, 5000}) {
            void *const p = resource.allocate(size, wanted);
            EXPECT_TRUE(is_aligned(p, wanted)) << size << " bytes at " << wanted;
            std::memset(p, 1, size);
            resource.deallocate(p, size, wanted);
        }
    }
}

TYPED_TEST(Adaptors, ResourcesAreEqualIfTheirHeapIs) {
    TypeParam other;
    const HeapResource one(this->heap);
    const HeapResource same(this->heap);
    const HeapResource different(other);
    EXPECT_TRUE(one == same);
    EXPECT_FALSE(one == different);
    EXPECT_FALSE(one == *std::pmr::new_delete_resource());
}

TEST(OverAligned, UsesMemalignOnlyWhereItIsNeeded) {
    CountingAligned heap;
    void *const plain = malloc_aligned(heap, 8, 100);
    EXPECT_EQ(heap.aligned, 0);
    void *const aligned = malloc_aligned(heap, 16, 100);
    EXPECT_EQ(heap.aligned, 1);
    free_aligned(heap, plain, 8);
    free_aligned(heap, aligned, 16);
    EXPECT_EQ(heap.live, 0);
}

/// As most mallocs: 16 is for blocks of 16 bytes and more.
class AlignsToSize {
public:
    void *malloc(std::size_t size) {
        void *const block = buffer_ + (size >= 16 ? align_up(used_, 16) : used_);
        used_ = static_cast<std::size_t>(static_cast<unsigned char *>(block) - buffer_) + align_up(size, 8);
        return block;
    }
    void free(void *) {}

private:
    alignas(16) unsigned char buffer_[1_KiB];
    std::size_t used_ = 8;
};

TEST(OverAligned, ASmallBlockIsAlignedToo) {
    AlignsToSize heap;
    HeapResource resource(heap);
    EXPECT_TRUE(is_aligned(malloc_aligned(heap, 16, 8), 16));
    EXPECT_TRUE(is_aligned(resource.allocate(8, 8), 8));
    EXPECT_TRUE(is_aligned(resource.allocate(1, 16), 16));
}

TEST(OverAligned, RefusesWhatDoesNotFit) {
    Counting heap;
    EXPECT_EQ(malloc_aligned(heap, 64, SIZE_MAX - 32), nullptr);
    EXPECT_EQ(malloc_aligned(heap, std::size_t{1} << 63, 1), nullptr);
    EXPECT_EQ(heap.live, 0);
}

} // namespace
