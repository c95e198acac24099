// SPDX-License-Identifier: MIT
//
// PerClassHeap: every form of new and delete, by a class that a pool serves and by one that takes any size, by
// classes derived from them, and by over-aligned ones. What goes to the global forms is counted.
#include <cairn/adapt/per_class.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <string>

using namespace cairn;

namespace {

/// Knows its blocks and their sizes; one for each Tag, like the heap of a class.
template <class Tag>
class Watched {
public:
    void *malloc(std::size_t size) {
        if (refuses) {
            return nullptr;
        }
        void *const p = MallocHeap().malloc(size);
        live.insert(p);
        last_size = size;
        return p;
    }
    void free(void *p) {
        EXPECT_EQ(live.erase(p), 1u) << "a block that is not of this heap";
        MallocHeap().free(p);
    }
    bool owns(const void *p) const { return live.contains(const_cast<void *>(p)); }

    static inline std::set<void *> live;
    static inline std::size_t last_size = 0;
    static inline bool refuses = false;
};

/// The same, with memalign: it can tell over-aligned blocks too.
template <class Tag>
class Aligning : public Watched<Tag> {
public:
    void *memalign(std::size_t wanted, std::size_t size) {
        void *const p = MallocHeap().memalign(wanted, size);
        Watched<Tag>::live.insert(p);
        return p;
    }
};

struct Foo {
    Foo() = default;
    explicit Foo(int v, bool fails = false) : value(v) {
        if (fails) {
            throw std::runtime_error("no Foo");
        }
    }
    virtual ~Foo() { ++destroyed; }
    int value = 0;
    static inline int destroyed = 0;
};

class Pooled : public PerClassHeap<Foo, Watched<Pooled>> {
public:
    using PerClassHeap::PerClassHeap;
};
struct Larger : Pooled {
    using Pooled::Pooled;
    char more[100] = {};
};
struct alignas(128) Wider : Pooled {};

class Hosted : public PerClassHeap<Foo, Watched<Hosted>, PerClassTakes::any_size> {
public:
    using PerClassHeap::PerClassHeap;
};
struct LargerHosted : Hosted {
    using Hosted::Hosted;
    char more[100] = {};
};
struct alignas(128) WiderHosted : Hosted {
    using Hosted::Hosted;
};

struct alignas(64) WideFoo : Foo {
    using Foo::Foo;
};
class PooledWide : public PerClassHeap<WideFoo, Aligning<PooledWide>> {
public:
    using PerClassHeap::PerClassHeap;
};

static_assert(sizeof(Pooled) == sizeof(Foo));

class PerClass : public testing::Test {
protected:
    ~PerClass() override { EXPECT_TRUE(Watched<Pooled>::live.empty() && Watched<Hosted>::live.empty()); }
    std::set<void *> &pooled = Watched<Pooled>::live;
    std::set<void *> &hosted = Watched<Hosted>::live;
};

TEST_F(PerClass, ObjectsLiveOnTheHeap) {
    auto *const object = new Pooled(7);
    EXPECT_TRUE(pooled.contains(object));
    EXPECT_EQ(object->value, 7);
    EXPECT_EQ(Watched<Pooled>::last_size, sizeof(Foo));
    delete object;
    delete static_cast<Pooled *>(nullptr);
    const std::unique_ptr<Foo> by_base = std::make_unique<Pooled>();
    EXPECT_EQ(pooled.size(), 1u);
}

TEST_F(PerClass, OthersGoElsewhereIfTheHeapIsAPool) {
    const std::unique_ptr<Pooled> larger = std::make_unique<Larger>(3);
    const std::unique_ptr<Pooled> wider = std::make_unique<Wider>();
    EXPECT_TRUE(pooled.empty());
    EXPECT_TRUE(is_aligned(wider.get(), 128));
    EXPECT_EQ(larger->value, 3);
    auto *const array = new Pooled[5];
    EXPECT_TRUE(pooled.empty());
    delete[] array;
    delete[] static_cast<Pooled *>(nullptr);
    delete[] new Pooled[0];
    delete[] new Wider[3];
}

TEST_F(PerClass, OthersComeAlongIfTheHeapTakesAnySize) {
    const std::unique_ptr<Hosted> larger = std::make_unique<LargerHosted>(3);
    const std::unique_ptr<Hosted> wider = std::make_unique<WiderHosted>();
    EXPECT_EQ(hosted.size(), 2u);
    EXPECT_TRUE(is_aligned(wider.get(), 128));
    auto *const array = new Hosted[5];
    auto *const wide_array = new WiderHosted[3];
    EXPECT_EQ(hosted.size(), 4u);
    EXPECT_TRUE(is_aligned(wide_array, 128) && is_aligned(wide_array + 1, 128));
    delete[] array;
    delete[] wide_array;
    delete[] new Hosted[0];
    EXPECT_EQ(hosted.size(), 2u);
}

TEST_F(PerClass, AConstructorThatThrowsLeavesNothingBehind) {
    EXPECT_THROW(static_cast<void>(new Pooled(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new Larger(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new Hosted(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new (std::nothrow) Pooled(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new (std::nothrow) Larger(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new (std::nothrow) LargerHosted(1, true)), std::runtime_error);
}

TEST_F(PerClass, AConstructorOfAnOverAlignedObjectThatThrowsLeavesNothingBehind) {
    const std::set<void *> &wide = Watched<PooledWide>::live;
    delete new PooledWide(1);
    EXPECT_THROW(static_cast<void>(new PooledWide(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new PooledWide[1]{PooledWide(1, true)}), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new (std::nothrow) PooledWide(1, true)), std::runtime_error);
    EXPECT_TRUE(wide.empty());
    EXPECT_THROW(static_cast<void>(new WiderHosted(1, true)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new WiderHosted[1]{WiderHosted(1, true)}), std::runtime_error);
    EXPECT_THROW(static_cast<void>(new (std::nothrow) WiderHosted(1, true)), std::runtime_error);
    EXPECT_TRUE(hosted.empty());
}

TEST_F(PerClass, OutOfMemory) {
    Watched<Pooled>::refuses = Watched<Hosted>::refuses = true;
    EXPECT_THROW(static_cast<void>(new Pooled), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(new Hosted[3]), std::bad_alloc);
    EXPECT_EQ(new (std::nothrow) Pooled, nullptr);
    EXPECT_EQ(new (std::nothrow) WiderHosted, nullptr);
    EXPECT_EQ(new (std::nothrow) Hosted[3], nullptr);
    EXPECT_EQ(new (std::nothrow) WiderHosted[3], nullptr);
    delete new (std::nothrow) Larger; // not of the heap
    Watched<Pooled>::refuses = Watched<Hosted>::refuses = false;
    delete new (std::nothrow) Pooled;
}

TEST(PerClassPool, ThrowsWhereItsHeapThrows) {
    struct Data {
        char bytes[32];
    };
    using Object = PerClassHeap<Data, Compose<StaticBufferHeap<64>, Freelist, ThrowException>>;
    bool thrown = false;
    try {
        for (int i = 0; i < 10; ++i) {
            static_cast<void>(new Object);
        }
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(new (std::nothrow) Object, nullptr);
}

TEST_F(PerClass, PlacementIsNotHidden) {
    alignas(Pooled) unsigned char room[sizeof(Pooled)];
    auto *const object = new (room) Pooled(5);
    EXPECT_EQ(object->value, 5);
    object->~Pooled();
}

struct alignas(64) Line {
    int value[16];
};
struct PooledLine : PerClassHeap<Line, Compose<MmapHeap, Bump<>, Freelist>> {};

TEST(PerClassPool, ServesOverAlignedClassesFromAHeapWithoutMemalign) {
    std::set<PooledLine *> lines;
    for (int i = 0; i < 100; ++i) {
        auto *const line = new PooledLine;
        EXPECT_TRUE(is_aligned(line, 64));
        EXPECT_TRUE(lines.insert(line).second);
    }
    PooledLine *const last = *lines.begin();
    for (PooledLine *line : lines) {
        if (line != last) {
            delete line;
        }
    }
    delete last;
    auto *const again = new PooledLine;
    EXPECT_EQ(again, last) << "reused, last freed first";
    delete again;
}

struct Plain {
    std::string name;
};
struct One : PerClassHeap<Plain, Compose<MmapHeap, Bump<>, Freelist>> {};
struct Two : PerClassHeap<Plain, Compose<MmapHeap, Bump<>, Freelist>> {};
template <class T>
concept HasNothrow = requires { new (std::nothrow) T; };
static_assert(HasNothrow<One>, "BumpHeap is owning, FreelistHeap passes it");
struct Untellable : PerClassHeap<Plain, Compose<MallocHeap, Freelist>> {};
static_assert(!HasNothrow<Untellable>);

TEST(PerClassPool, ObjectsLieSideBySide) {
    const std::unique_ptr<One> a = std::make_unique<One>();
    const std::unique_ptr<One> b = std::make_unique<One>();
    EXPECT_EQ(reinterpret_cast<char *>(b.get()) - reinterpret_cast<char *>(a.get()),
              static_cast<std::ptrdiff_t>(align_up(sizeof(One), 16)));
}

} // namespace
