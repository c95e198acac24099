// SPDX-License-Identifier: MIT
//
// Stacks: ObstackHeap, FixedStackHeap, and XallocHeap on both. XallocHeap is compared with an allocator for the
// same purpose that is written by hand.
#include "counting_heap.hpp"

#include <bench/obstack/memory.hpp>

#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/system_malloc.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace cairn;

namespace {
using Rich = Archetype<Capability::all>;

/// The poorest stack.
struct StackArchetype {
    struct StackOrder;
    void *malloc(std::size_t) { return nullptr; }
    void free(void *) {}
    void clear() {}
    bool owns(const void *) const { return false; }
};
} // namespace

template class cairn::FixedStackHeap<Archetype<>>;
template class cairn::FixedStackHeap<Rich, 64>;
template class cairn::ObstackHeap<Archetype<>>;
template class cairn::ObstackHeap<Rich, 64>;
template class cairn::XallocHeap<StackArchetype>;
template class cairn::XallocHeap<FixedStackHeap<Archetype<>>>;

namespace {

// A stack is no heap, so nothing that frees in an order of its own can be put on it; XallocHeap makes it one.
static_assert(StackHeap<StackArchetype> && !Heap<StackArchetype>);
static_assert(StackHeap<ObstackHeap<Rich>> && !Heap<ObstackHeap<Rich>>);
static_assert(StackHeap<FixedStackHeap<Rich>> && !Heap<FixedStackHeap<Rich>>);
static_assert(!StackHeap<Rich> && !StackHeap<FreelistHeap<Rich>>);
struct NoClear {
    struct StackOrder;
    void *malloc(std::size_t);
    void free(void *);
    bool owns(const void *) const;
};
struct OwnsIsNotConst : StackArchetype {
    bool owns(const void *) { return false; }
};
static_assert(!StackHeap<NoClear> && !Heap<NoClear> && !StackHeap<OwnsIsNotConst>);
using enum Capability;
static_assert(capabilities_of<XallocHeap<StackArchetype>> == (sized | clearable | owning));
static_assert(capabilities_of<XallocHeap<ObstackHeap<Rich>>> == (sized | clearable | owning));
static_assert(capabilities_of<XallocHeap<FixedStackHeap<Rich>>> == (sized | clearable | owning | bounded));
static_assert(SelfSizedHeap<XallocHeap<StackArchetype>>);
static_assert(
    std::same_as<Compose<Rich, FixedStack<1_MiB>, Xalloc>, XallocHeap<FixedStackHeap<Rich, 1_MiB>>>);
static_assert(std::same_as<Compose<Rich, Obstack<>>, ObstackHeap<Rich>>);
static_assert(!std::copy_constructible<ObstackHeap<MmapHeap>> &&
              !std::copy_constructible<FixedStackHeap<MmapHeap>> &&
              !std::copy_constructible<XallocHeap<ObstackHeap<MmapHeap>>>);
constinit ObstackHeap<MmapHeap> static_obstack;
constinit XallocHeap<FixedStackHeap<MmapHeap>> static_xalloc;

using Counting = CountingHeap<MallocHeap>;

class Stacks : public testing::Test {
protected:
    ~Stacks() override { EXPECT_EQ(Counting::live, 0) << "not everything was given back"; }
};

TEST_F(Stacks, OutOfMemoryIsPassedUp) {
    ObstackHeap<Archetype<>> obstack;
    EXPECT_EQ(obstack.malloc(1), nullptr);
    EXPECT_FALSE(obstack.grow("a", 1) || obstack.grow_byte('a') || obstack.blank(1) || obstack.make_room(1));
    EXPECT_EQ(obstack.grown(), 0u);
    EXPECT_EQ(obstack.finish(), nullptr);
    obstack.clear();
    FixedStackHeap<Archetype<>> stack;
    EXPECT_EQ(stack.malloc(1), nullptr);
    stack.clear();
    XallocHeap<StackArchetype> xalloc;
    EXPECT_EQ(xalloc.malloc(1), nullptr);
    EXPECT_EQ(xalloc.malloc(SIZE_MAX), nullptr);
}

TEST_F(Stacks, FreeTakesAllThatIsYounger) {
    ObstackHeap<Counting, 256> obstack;
    auto *const first = static_cast<char *>(obstack.malloc(10));
    auto *const second = static_cast<char *>(obstack.malloc(20));
    EXPECT_EQ(second, first + 16);
    std::vector<void *> more;
    for (int i = 0; i < 100; ++i) {
        more.push_back(obstack.malloc(50)); // several chunks
    }
    EXPECT_GT(Counting::live, 20);
    EXPECT_TRUE(obstack.owns(first) && obstack.owns(more.back()));
    obstack.free(more[60]);
    EXPECT_FALSE(obstack.owns(more[60]) || obstack.owns(more[99]));
    EXPECT_TRUE(obstack.owns(more[59]));
    EXPECT_EQ(obstack.malloc(50), more[60]) << "the same place again";
    obstack.free(second);
    EXPECT_EQ(Counting::live, 1) << "the chunks above go back";
    EXPECT_EQ(obstack.malloc(5), second);
    obstack.free(first);
    EXPECT_EQ(Counting::live, 1) << "the chunk that it lies in stays";
    EXPECT_EQ(obstack.memory_used(), 256u);
    obstack.clear();
    EXPECT_EQ(obstack.memory_used(), 0u);
    EXPECT_NE(obstack.malloc(1), nullptr) << "as new";
}

/// Blocks one behind the other, as the C library's malloc places them: eight bytes and what rounding leaves between.
struct Neighbours {
    static constexpr std::size_t alignment = 16;
    alignas(16) static inline char memory[64_KiB];
    static inline std::size_t used = 0;
    static void *malloc(std::size_t size) {
        void *const block = memory + used;
        used += align_up(size + 8, 16);
        return block;
    }
    static void free(void *) {}
};

template <std::size_t ChunkSize>
void expect_that_no_neighbour_is_owned() {
    Neighbours::used = 0;
    XallocHeap<ObstackHeap<Neighbours, ChunkSize>> xalloc;
    for (int i = 0; i < 40; ++i) {
        xalloc.malloc(100); // several chunks
    }
    void *const other = Neighbours::malloc(100);
    xalloc.malloc(ChunkSize); // a chunk of its own, behind that block
    EXPECT_FALSE(xalloc.owns(other)) << ChunkSize;
}

/// A chunk of a length that is no multiple of the alignment ends in the header that a block right behind it would have.
TEST_F(Stacks, XallocDoesNotOwnTheBlockBehindAChunk) {
    expect_that_no_neighbour_is_owned<1024>();
    expect_that_no_neighbour_is_owned<1025>();
    expect_that_no_neighbour_is_owned<1026>();
    expect_that_no_neighbour_is_owned<1032>();
    expect_that_no_neighbour_is_owned<1033>();
    expect_that_no_neighbour_is_owned<1039>();
}

TEST_F(Stacks, AnObjectGrowsOverManyChunks) {
    ObstackHeap<Counting, 128> obstack;
    auto *const before = static_cast<char *>(obstack.malloc(3));
    std::memcpy(before, "abc", 3);
    std::string text;
    for (int i = 0; i < 5000; ++i) {
        ASSERT_TRUE(obstack.grow_byte(static_cast<char>('a' + i % 26)));
        text.push_back(static_cast<char>('a' + i % 26));
    }
    ASSERT_TRUE(obstack.grow(" and more", 9));
    text += " and more";
    obstack.shrink(4);
    text.resize(text.size() - 4);
    EXPECT_EQ(obstack.grown(), text.size());
    EXPECT_EQ(Counting::live, 2) << "what it has outgrown went back, the other object's chunk stays";
    auto *const object = static_cast<char *>(obstack.finish());
    EXPECT_EQ(std::string(object, text.size()), text);
    EXPECT_EQ(std::string(before, 3), "abc");
    EXPECT_TRUE(is_aligned(obstack.malloc(1), 16));
    ASSERT_TRUE(obstack.blank(100));
    obstack.give_up();
    EXPECT_EQ(obstack.grown(), 0u);
    EXPECT_GT(obstack.room(), 0u);
}

TEST_F(Stacks, AGrowingObjectSurvivesALackOfMemory) {
    ObstackHeap<Counting, 64> obstack;
    ASSERT_TRUE(obstack.grow("0123456789", 10));
    Counting::refuses = true;
    EXPECT_FALSE(obstack.blank(1000));
    EXPECT_FALSE(obstack.blank(SIZE_MAX));
    EXPECT_TRUE(obstack.grow("x", 1)) << "what fits still works";
    Counting::refuses = false;
    EXPECT_EQ(std::string(obstack.growing(), obstack.grown()), "0123456789x");
    ASSERT_TRUE(obstack.blank(1000));
    EXPECT_EQ(std::string(static_cast<char *>(obstack.finish()), 11), "0123456789x");
}

/// Heap Layers, section 5.2, as it is written there: glibc's blocks of 4096 bytes have room for 8 more.
TEST(Obstack, OfTheDocument) {
    using ObstackType = ObstackHeap<HybridHeap<4096 + 8, FreelistHeap<MallocHeap>, MallocHeap>, 4096>;
    ObstackType stack;
    void *const first = stack.malloc(3000);
    void *const second = stack.malloc(3000);
    std::memset(second, 1, 3000);
    stack.free(second);
    EXPECT_EQ(stack.malloc(3000), second) << "the chunk was on the list";
    void *const third = stack.malloc(100'000);
    std::memset(third, 1, 100'000);
    stack.free(first);
}

/// The chunks of the usual size are on a list: for every other size it has none that is long enough.
TEST(BenchObstack, AChunkThatIsLittleLongerIsNotOfTheList) {
    bench::OnFreelist stack;
    stack.malloc(1);
    for (std::size_t size = bench::chunk - 64; size < bench::chunk + 64; ++size) {
        void *const scope = stack.malloc(bench::chunk / 2);
        ASSERT_NE(stack.malloc(bench::chunk / 2), nullptr);
        stack.free(scope); // and the second chunk, to the list
        void *const object = stack.malloc(size);
        ASSERT_NE(object, nullptr);
        std::memset(object, 1, size);
        stack.free(object);
    }
}

TEST_F(Stacks, AnEmptyObjectIsAMark) {
    ObstackHeap<Counting, 128> obstack;
    for (int round = 0; round < 3; ++round) {
        void *const mark = obstack.malloc(0);
        for (int i = 0; i < 20; ++i) {
            ASSERT_NE(obstack.malloc(40), nullptr);
        }
        if (mark != nullptr) { // it is for the very first one, before there is a chunk
            EXPECT_NE(round, 0);
            obstack.free(mark);
        }
        // The chunk of the mark is there, so freeing back to it was no error.
        EXPECT_GE(Counting::live, 1);
    }
}

/// An allocator for the blocks of a parser, as one writes it for a single program: all of it in one function
/// pair, for the purpose of the comparison below.
class HandWritten {
public:
    explicit HandWritten(std::size_t limit) : memory_(new unsigned char[limit]), limit_(limit) {}

    void *allocate(std::size_t size) {
        const std::size_t rounded = (size + 15) / 16 * 16;
        const std::size_t start = blocks_.empty() ? 0 : blocks_.back().end;
        if (size > limit_ || start + 16 + size > limit_) {
            return nullptr;
        }
        blocks_.push_back(Entry{start, start + 16 + rounded, true});
        return memory_.get() + start + 16;
    }

    void release(void *p) {
        const auto start = static_cast<std::size_t>(static_cast<unsigned char *>(p) - memory_.get()) - 16;
        std::find_if(blocks_.begin(), blocks_.end(), [&](const Entry &e) { return e.start == start; })->used =
            false;
        while (!blocks_.empty() && !blocks_.back().used) {
            blocks_.pop_back();
        }
    }

    void release_all() { blocks_.clear(); }

    std::size_t offset(void *p) const {
        return static_cast<std::size_t>(static_cast<unsigned char *>(p) - memory_.get());
    }

private:
    struct Entry {
        std::size_t start;
        std::size_t end;
        bool used;
    };
    std::unique_ptr<unsigned char[]> memory_;
    std::size_t limit_;
    std::vector<Entry> blocks_;
};

TEST_F(Stacks, XallocDoesWhatTheHandWrittenOneDoes) {
    constexpr std::size_t limit = 20'000;
    HandWritten original(limit);
    Compose<Counting, FixedStack<limit>, Xalloc> layered;
    struct Pair {
        void *original;
        void *layered;
    };
    std::vector<Pair> live;
    char *start = nullptr;
    int refused = 0;
    std::mt19937 random(7);
    for (int i = 0; i < 50'000; ++i) {
        if (random() % 2000 == 0) {
            original.release_all();
            layered.reset();
            live.clear();
        } else if (random() % 100 < 48 || live.empty()) {
            const std::size_t size = random() % 200;
            const Pair pair{original.allocate(size), layered.malloc(size)};
            ASSERT_EQ(pair.original == nullptr, pair.layered == nullptr) << "step " << i;
            if (pair.original == nullptr) {
                ++refused;
                continue;
            }
            if (start == nullptr) {
                start = static_cast<char *>(pair.layered) - original.offset(pair.original);
            }
            ASSERT_EQ(static_cast<char *>(pair.layered) - start,
                      static_cast<std::ptrdiff_t>(original.offset(pair.original)))
                << "another place in step " << i;
            live.push_back(pair);
        } else {
            // Mostly the youngest, as a parser does; now and then any other.
            const std::size_t which = random() % 4 != 0 ? live.size() - 1 : random() % live.size();
            original.release(live[which].original);
            layered.free(live[which].layered);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    EXPECT_GT(refused, 10) << "the limit was never met";
}

TEST_F(Stacks, XallocFreesInAnyOrder) {
    Compose<Counting, Obstack<128>, Xalloc> heap;
    std::vector<void *> blocks;
    for (int i = 0; i < 50; ++i) {
        blocks.push_back(heap.malloc(30));
    }
    const int chunks = Counting::live;
    for (int i = 0; i < 49; ++i) {
        heap.free(blocks[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(Counting::live, chunks) << "the youngest keeps all";
    heap.free(blocks[49]);
    EXPECT_EQ(Counting::live, 1);
    EXPECT_EQ(heap.malloc(30), blocks[0]);
}

TEST_F(Stacks, TheCapacityMayBeSaidAtRunTime) {
    XallocHeap<FixedStackHeap<Counting>> heap(1000); // rounded down to 992
    EXPECT_EQ(heap.remaining(), 992u - 16);
    EXPECT_EQ(heap.malloc(977), nullptr);
    EXPECT_NE(heap.malloc(976), nullptr);
    EXPECT_EQ(heap.remaining(), 0u);
    heap.clear();
    EXPECT_NE(heap.malloc(976), nullptr);
}

TEST_F(Stacks, AnObjectWithStaticStorageNeedsNoStart) {
    EXPECT_NE(static_obstack.malloc(10), nullptr);
    EXPECT_NE(static_xalloc.malloc(10), nullptr);
}

TEST(StackDeath, AForeignAddressStopsTheProgram) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ObstackHeap<MallocHeap> obstack;
    ASSERT_NE(obstack.malloc(10), nullptr);
    int foreign = 0;
    EXPECT_DEATH(obstack.free(&foreign), "is in no chunk of this obstack");
    if constexpr (platform::checked) {
        EXPECT_DEATH(static_cast<void>(obstack.grow_byte('a') && obstack.malloc(1) != nullptr), "grows");
        XallocHeap<ObstackHeap<MallocHeap>> xalloc;
        void *const below = xalloc.malloc(10);
        ASSERT_NE(xalloc.malloc(10), nullptr);
        xalloc.free(below);
        EXPECT_DEATH(xalloc.free(below), "double free");
    }
}

} // namespace
