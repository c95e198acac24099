// SPDX-License-Identifier: MIT
//
// CheckHeap: each fault is found, with the block, the size and the offset, and nothing else is.
#include "process_memory.hpp"

#include <cairn/adapt/throw_exception.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;

// So that a request which no machine can serve is nullptr under the sanitizers too.
extern "C" const char *__asan_default_options() {
    return "allocator_may_return_null=1";
}
extern "C" const char *__tsan_default_options() {
    return "allocator_may_return_null=1";
}

template class cairn::CheckHeap<Archetype<>>;
template class cairn::CheckHeap<Archetype<Capability::all>>;
template class cairn::CheckHeap<SelfSizedArchetype>;
template class cairn::CheckHeap<SelfSizedArchetype, StopAtFaultTellLeaks, 0>;

namespace {

constinit CheckHeap<MmapHeap> heap_of_a_process;

/// Writes down what was found, and lets the program go on.
struct Note {
    static constexpr bool leaks = true;
    static void found(const Finding &finding) { all().push_back(finding); }

    static std::vector<Finding> &all() {
        static std::vector<Finding> findings;
        return findings;
    }

    /// The only finding since the last call.
    static void expect(Fault fault, const void *block, std::size_t size, std::size_t offset = 0) {
        ASSERT_EQ(all().size(), 1u) << text_of(fault);
        const Finding it = all().front();
        EXPECT_STREQ(text_of(it.fault), text_of(fault));
        EXPECT_EQ(it.block, block);
        EXPECT_EQ(it.size, size);
        EXPECT_EQ(it.offset, offset);
        all().clear();
    }
    static void expect_nothing() {
        EXPECT_TRUE(all().empty()) << text_of(all().front().fault);
        all().clear();
    }
};

/// Says what it is going to hand out next, and counts what it gets back.
class Puppet {
public:
    static constexpr std::size_t alignment = 16;

    void *malloc(std::size_t size) {
        asked.push_back(size);
        return next;
    }
    void *malloc_zeroed(std::size_t size) { return malloc(size); }
    void *memalign(std::size_t, std::size_t size) { return malloc(size); }
    void *reallocate(void *, std::size_t size) { return malloc(size); }
    void free(void *p) { freed.push_back(p); }
    std::size_t getSize(void *) const { return says; }

    static void reset() {
        asked.clear();
        freed.clear();
        says = SIZE_MAX;
        Note::all().clear();
    }

    static inline void *next = nullptr;
    static inline std::size_t says = SIZE_MAX;
    static inline std::vector<std::size_t> asked;
    static inline std::vector<void *> freed;
};

using Blocks = std::vector<void *>;

class CheckHeapTest : public testing::Test {
protected:
    CheckHeapTest() {
        Puppet::reset();
        std::fill(std::begin(memory_), std::end(memory_), std::byte{0x77});
    }
    ~CheckHeapTest() override { Note::all().clear(); }

    template <class H>
    std::byte *take(H &heap, std::size_t at, std::size_t size) {
        Puppet::next = memory_ + at;
        return static_cast<std::byte *>(heap.malloc(size));
    }

    alignas(4096) std::byte memory_[8192];
};

template <std::size_t Held>
using Checked = CheckHeap<Puppet, Note, Held>;

TEST_F(CheckHeapTest, FreesOfWhatIsNoBlock) {
    int on_stack = 0;
    Checked<4> heap;
    heap.free(&on_stack);
    Note::expect(Fault::invalid_free, &on_stack, 0);
    std::byte *const p = take(heap, 256, 40);
    heap.free(p - 16);
    Note::expect(Fault::invalid_free, p - 16, 0);
    heap.free(p + 8);
    Note::expect(Fault::interior_free, p, 40, 8);
    heap.free(p + 56);
    Note::expect(Fault::invalid_free, p + 56, 0);
    EXPECT_TRUE(Puppet::freed.empty()) << "the heap below is not to be harmed";
    heap.free(p);
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, MultipleFrees) {
    Checked<2> heap;
    std::byte *const p = take(heap, 0, 40);
    heap.free(p);
    heap.free(p); // while it is held
    Note::expect(Fault::multiple_free, p, 40);
    heap.free(take(heap, 256, 16));
    EXPECT_TRUE(Puppet::freed.empty());
    heap.free(take(heap, 512, 16));
    EXPECT_EQ(Puppet::freed, Blocks{p}) << "the oldest";
    heap.free(p); // when the heap below has it
    Note::expect(Fault::multiple_free, p, 40);
    EXPECT_EQ(take(heap, 0, 24), p);
    heap.free(p);
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, BlocksOverLiveOnes) {
    Checked<0> heap;
    std::byte *const p = take(heap, 256, 40); // and the guard: 256 to 312
    take(heap, 256, 8);
    Note::expect(Fault::handed_out_twice, p, 40);
    take(heap, 512, 40);
    take(heap, 560, 40);
    Note::expect(Fault::overlapping, memory_ + 512, 40, 48);
    take(heap, 1040, 40);
    take(heap, 1024, 16);
    Note::expect(Fault::overlapping, memory_ + 1040, 40,
                 address_of(memory_ + 1024) - address_of(memory_ + 1040));
    take(heap, 2064, 1);
    take(heap, 2048, 1000); // around it
    Note::expect(Fault::overlapping, memory_ + 2064, 1,
                 address_of(memory_ + 2048) - address_of(memory_ + 2064));
    take(heap, 4096, 16);
    take(heap, 4096 + 32, 16); // behind the guard
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, MemoryOfFreedBlocksMayBeCutAnew) {
    Checked<0> heap;
    std::byte *const p = take(heap, 0, 100);
    std::byte *const q = take(heap, 128, 100);
    heap.free(p);
    heap.free(q);
    std::byte *const joined = take(heap, 0, 200);
    heap.free(joined);
    std::byte *const part = take(heap, 64, 10);
    heap.free(p);
    Note::expect(Fault::invalid_free, p, 0); // nothing is known of it any more
    heap.free(part);
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, WhatIsHeldIsNotToBeHandedOut) {
    Checked<4> heap;
    std::byte *const p = take(heap, 0, 100);
    heap.free(p);
    take(heap, 32, 10);
    Note::expect(Fault::overlapping, p, 100, 32);
}

TEST_F(CheckHeapTest, BlocksThatAreNotAsPromised) {
    Checked<0> heap;
    std::byte *p = take(heap, 8, 40);
    Note::expect(Fault::misaligned, p, 40);
    Puppet::next = memory_ + 128;
    void *const q = heap.memalign(4096, 40);
    Note::expect(Fault::misaligned, q, 40);
    Puppet::says = 55;
    p = take(heap, 256, 40);
    Note::expect(Fault::too_small, p, 40);
    Puppet::says = 56;
    Puppet::next = memory_ + 512;
    std::fill_n(memory_ + 512, 40, std::byte{0});
    void *const clear = heap.malloc_zeroed(40);
    Note::expect_nothing();
    heap.free(clear);
    std::fill_n(memory_ + 512, 40, std::byte{0});
    memory_[512 + 39] = std::byte{1};
    heap.malloc_zeroed(40);
    Note::expect(Fault::not_zero, memory_ + 512, 40, 39);
}

TEST_F(CheckHeapTest, WritesBehindTheEnd) {
    for (const std::size_t offset : {40u, 41u, 55u}) {
        for (const bool at_free : {true, false}) {
            Checked<4> heap;
            std::byte *const p = take(heap, 0, 40);
            std::fill_n(p, 40, std::byte{1});
            heap.check();
            Note::expect_nothing();
            p[offset] = std::byte{0};
            at_free ? heap.free(p) : heap.check();
            Note::expect(Fault::written_behind_end, p, 40, offset);
            p[offset] = std::byte{debug::guard_byte};
            if (!at_free) {
                heap.free(p);
            }
        }
    }
    Note::expect_nothing();
}

/// The guard begins at the last byte asked for, whatever the heap below has to spare, and the size is told by the
/// block alone.
TEST_F(CheckHeapTest, WritesBehindTheEndOfASelfSizedBlock) {
    using Heap = CheckHeap<MallocHeap, Note, 4>;
    static_assert(SelfSizedHeap<Heap>);
    for (std::size_t size = 0; size < 100; ++size) {
        for (std::size_t offset = size; offset < size + 16; ++offset) {
            Heap heap;
            auto *const p = static_cast<std::byte *>(heap.malloc(size));
            EXPECT_EQ(Heap::getSize(p), size);
            const std::byte before = p[offset];
            p[offset] = ~before;
            heap.check();
            ASSERT_EQ(Note::all().size(), 1u) << size << " " << offset;
            EXPECT_EQ(Note::all().front().fault, Fault::written_behind_end);
            Note::all().clear();
            p[offset] = before;
            heap.free(p);
        }
    }
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, UseOfAFreedSelfSizedBlock) {
    using Heap = CheckHeap<MallocHeap, Note, 4>;
    Heap heap;
    void *const p = heap.malloc(40);
    heap.free(p);
    EXPECT_EQ(Heap::getSize(p), 0u);
    Note::expect(Fault::invalid_use, p, 0);
}

TEST_F(CheckHeapTest, WritesIntoFreedBlocks) {
    {
        Checked<2> heap;
        std::byte *const p = take(heap, 0, 40);
        heap.free(p);
        heap.check();
        Note::expect_nothing();
        p[39] = std::byte{0};
        heap.check();
        Note::expect(Fault::written_after_free, p, 40, 39);
        heap.free(take(heap, 256, 16));
        heap.free(take(heap, 512, 16));
        Note::expect(Fault::written_after_free, p, 40, 39);
        memory_[256] = std::byte{0};
    }
    Note::expect(Fault::written_after_free, memory_ + 256, 16, 0);
    EXPECT_EQ(Puppet::freed.size(), 3u);
}

TEST_F(CheckHeapTest, ReadersSeeThatMemoryIsNotTheirs) {
    Checked<2> heap;
    std::byte *const p = take(heap, 0, 40);
    EXPECT_EQ(p[0], std::byte{debug::unwritten_byte});
    EXPECT_EQ(p[39], std::byte{debug::unwritten_byte});
    heap.free(p);
    EXPECT_EQ(p[0], std::byte{debug::freed_byte});
    EXPECT_EQ(p[39], std::byte{debug::freed_byte});
}

TEST_F(CheckHeapTest, Leaks) {
    std::byte *lost = nullptr;
    {
        Checked<2> heap;
        lost = take(heap, 0, 40);
        heap.free(take(heap, 256, 40));
    }
    Note::expect(Fault::leaked, lost, 40);
    EXPECT_EQ(Puppet::freed, Blocks{memory_ + 256})
        << "what was held goes below, what is lost is not ours to free";
}

TEST_F(CheckHeapTest, AProfileAboveLeavesItToTheCheckToSayWhatIsFreed) {
    static constinit Usage usage;
    Compose<MmapHeap, SizeHeader, Check<Note, 4>, Profile<usage>> by_itself;
    Compose<MmapHeap, Check<Note, 4>, Profile<usage>> by_table;
    Compose<MmapHeap, Check<Note, 4>, SizeTable<>, Check<Note, 4>, Profile<usage>> above_a_table;
    const auto use = [](auto &heap) {
        void *const p = heap.malloc(40);
        heap.free(p);
        heap.free(p);
        Note::expect(Fault::multiple_free, p, 40);
        std::byte other[64];
        heap.free(other);
        Note::expect(Fault::invalid_free, other, 0);
    };
    use(by_itself);
    use(by_table);
    use(above_a_table);
    Compose<MallocHeap, Check<Note, 4>, Profile<usage>> reallocating;
    void *const p = reallocating.malloc(40);
    reallocating.free(p);
    EXPECT_EQ(reallocating.reallocate(p, 50), nullptr);
    Note::expect(Fault::multiple_free, p, 40);
    EXPECT_EQ(usage.blocks.now(), 0u);
    EXPECT_EQ(usage.frees.all(), 4u) << "what was none is not counted";
}

TEST_F(CheckHeapTest, AsksForTheGuardAndNothingElse) {
    Checked<2> heap;
    take(heap, 0, 40);
    take(heap, 256, 0);
    Puppet::next = memory_ + 512;
    heap.memalign(64, 100);
    Puppet::next = nullptr;
    EXPECT_EQ(heap.malloc(SIZE_MAX - 16), nullptr);
    EXPECT_EQ(heap.malloc(SIZE_MAX - 15), nullptr);
    Note::expect_nothing();
    EXPECT_EQ(Puppet::asked, (std::vector<std::size_t>{56, 16, 116, SIZE_MAX}));
}

TEST_F(CheckHeapTest, NothingIsAsInCOverHeapsOfC) {
    CheckHeap<MallocHeap, Note> c;
    c.free(nullptr);
    void *const p = c.reallocate(nullptr, 8);
    EXPECT_EQ(c.reallocate(p, 0), nullptr);
    Note::expect_nothing();
    c.free(p);
    Note::expect(Fault::multiple_free, p, 8);
    Checked<2> other;
    other.free(nullptr);
    Note::expect(Fault::invalid_free, nullptr, 0);
    other.reallocate(nullptr, 8);
    Note::expect(Fault::invalid_free, nullptr, 0);
}

TEST_F(CheckHeapTest, GivesBackWhatItHoldsBeforeItGivesUp) {
    CheckHeap<StaticBufferHeap<1024>, Note, 4> heap; // whose free does nothing
    void *const p = heap.malloc(900);
    heap.free(p);
    EXPECT_EQ(heap.malloc(200), nullptr);
    heap.free(p);
    Note::expect(Fault::multiple_free, p, 900);
    EXPECT_EQ(heap.remaining(), 1024u - 928u - 16u);
    EXPECT_NE(heap.malloc(heap.remaining()), nullptr);
    EXPECT_EQ(heap.remaining(), 0u);
    heap.clear();
    EXPECT_EQ(heap.malloc(900), p);
    heap.clear();
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, GivesBackWhatItHoldsBeforeAReallocateFails) {
    Checked<4> heap;
    std::byte *const p = take(heap, 0, 40);
    heap.free(take(heap, 256, 40));
    Puppet::next = nullptr;
    EXPECT_EQ(heap.reallocate(p, 60), nullptr);
    EXPECT_EQ(Puppet::freed, Blocks{memory_ + 256});
    EXPECT_EQ(Puppet::asked, (std::vector<std::size_t>{56, 56, 76, 76})) << "once more, after the free";
    EXPECT_EQ(heap.reallocate(p, 60), nullptr);
    EXPECT_EQ(Puppet::asked.size(), 5u) << "nothing is held any more";
    heap.free(p);
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, Reallocate) {
    Checked<0> heap;
    std::byte *const p = take(heap, 0, 40);
    std::fill_n(p, 40, std::byte{1});
    Puppet::next = nullptr;
    EXPECT_EQ(heap.reallocate(p, 60), nullptr);
    heap.check(); // it is as it was
    Puppet::next = p;
    EXPECT_EQ(heap.reallocate(p, 60), p) << "in place";
    EXPECT_EQ(p[39], std::byte{1});
    EXPECT_EQ(p[40], std::byte{debug::unwritten_byte});
    Puppet::next = memory_ + 512;
    EXPECT_EQ(heap.reallocate(p, 20), memory_ + 512);
    Note::expect_nothing();
    heap.reallocate(p, 20);
    Note::expect(Fault::multiple_free, p, 60);
    memory_[512 + 20] = std::byte{0};
    Puppet::next = p;
    heap.reallocate(memory_ + 512, 20);
    Note::expect(Fault::written_behind_end, memory_ + 512, 20, 20);
    EXPECT_EQ(heap.getSize(p), 20u);
    heap.free(p);
    EXPECT_EQ(heap.getSize(p), 0u);
    Note::expect(Fault::invalid_use, p, 0);
}

TEST_F(CheckHeapTest, ABlockStaysWhatItWasWhenTheHeapBelowThrows) {
    CheckHeap<ThrowExceptionHeap<MallocHeap>, Note> heap;
    void *const p = heap.malloc(33);
    EXPECT_THROW(heap.reallocate(p, PTRDIFF_MAX - 100), std::bad_alloc);
    EXPECT_EQ(heap.getSize(p), 33u);
    heap.free(p);
    Note::expect_nothing();
    CheckHeap<ThrowExceptionHeap<MmapHeap>, Note> pages;
    const std::size_t before = test::address_space();
    for (int i = 0; i < 50'000; ++i) {
        EXPECT_THROW(pages.malloc(PTRDIFF_MAX - 100), std::bad_alloc);
    }
    EXPECT_LT(test::address_space(), before + 512_KiB) << "an entry for each block that was not to be had";
}

TEST_F(CheckHeapTest, ManyBlocksAgreeWithAModel) {
    Compose<MallocHeap, SizeHeader, Check<Note, 8>> heap;
    std::mt19937_64 random(1);
    Blocks live;
    for (int step = 0; step < 20'000; ++step) {
        if (live.empty() || random() % 2 == 0) {
            live.push_back(heap.malloc(random() % 300));
        } else {
            std::swap(live[random() % live.size()], live.back());
            heap.free(live.back());
            if (step % 100 == 1) {
                heap.free(live.back());
                ASSERT_EQ(Note::all().size(), 1u);
                Note::all().clear();
            }
            live.pop_back();
        }
    }
    heap.check();
    for (void *p : live) {
        heap.free(p);
    }
    Note::expect_nothing();
}

TEST_F(CheckHeapTest, TheChildOfAForkCanUseIt) {
    Checked<2> heap;
    heap.lock_all();
    const pid_t child = fork();
    heap.unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
    heap.free(take(heap, 0, 40));
    if (child == 0) {
        _exit(Note::all().empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

using CheckHeapDeathTest = CheckHeapTest;

TEST_F(CheckHeapDeathTest, StopsTheProgramWithOneLine) {
    EXPECT_DEATH(
        {
            CheckHeap<MallocHeap> heap;
            void *const p = heap.malloc(33);
            heap.free(p);
            heap.free(p);
        },
        "^cairn: free of a block that was freed: 0x[0-9a-f]+, 33 bytes, at offset 0\n$");
    EXPECT_EXIT(
        {
            (CheckHeap<MmapHeap, StopAtFaultTellLeaks>().malloc(33));
            _exit(3);
        },
        testing::ExitedWithCode(3), "^cairn: not freed: 0x[0-9a-f]+, 33 bytes");
}

TEST(AddressMap, AgreesWithAModel) {
    using Map = debug::AddressMap<int>;
    static constinit Map map;
    std::map<std::uintptr_t, int> model;
    std::mt19937_64 random(1);
    for (int step = 1; step < 50'000; ++step) {
        const std::uintptr_t address = random() % 3000 + 1;
        Map::Entry *const below = map.at_or_below(address);
        const auto above_in_model = model.upper_bound(address);
        ASSERT_EQ(below == nullptr, above_in_model == model.begin());
        if (below != nullptr) {
            ASSERT_EQ(below->address(), std::prev(above_in_model)->first);
            ASSERT_EQ(below->value, std::prev(above_in_model)->second);
        }
        Map::Entry *const above = map.at_or_above(address);
        const auto lower = model.lower_bound(address);
        ASSERT_EQ(above == nullptr, lower == model.end());
        ASSERT_TRUE(above == nullptr || above->address() == lower->first);
        Map::Entry *const same = map.at(address);
        ASSERT_EQ(same != nullptr, model.contains(address));
        if (same != nullptr && random() % 2 == 0) {
            map.remove(same);
            model.erase(address);
        } else if (same == nullptr && random() % 4 != 0) {
            Map::Entry *const entry = map.make();
            entry->value = step;
            map.insert(entry, address);
            model[address] = step;
        }
    }
    auto expected = model.begin();
    map.for_each([&](const Map::Entry &entry) { EXPECT_EQ(entry.address(), (expected++)->first); });
    EXPECT_EQ(expected, model.end());
    map.clear();
    EXPECT_EQ(map.at_or_above(0), nullptr);
}

} // namespace
