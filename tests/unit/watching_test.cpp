// SPDX-License-Identifier: MIT
//
// ProfileHeap, SizeTableHeap and TraceHeap: what they say is what happened, and nobody notices them.
#include "process_memory.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/debug/trace.hpp>
#include <cairn/debug/trace_file.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>
#include <cairn/thread/thread_owned.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
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

namespace {
constinit Usage usage;
constinit TraceFile<> trace(-1);
} // namespace

template class cairn::ProfileHeap<Archetype<Capability::sized>, usage>;
template class cairn::ProfileHeap<Archetype<Capability::all>, usage>;
template class cairn::ProfileHeap<SelfSizedArchetype, usage>;
template class cairn::SizeTableHeap<Archetype<>>;
template class cairn::SizeTableHeap<Archetype<Capability::all>>;
template class cairn::TraceHeap<Archetype<>, trace>;
template class cairn::TraceHeap<Archetype<Capability::all>, trace>;
template class cairn::TraceHeap<SelfSizedArchetype, trace>;

namespace {

// Each can be put in and taken out.
using enum Capability;
using Rich = Archetype<all>;
static_assert(capabilities_of<TraceHeap<Archetype<>, trace>> == none);
static_assert(capabilities_of<TraceHeap<Rich, trace>> == all);
static_assert(capabilities_of<ProfileHeap<Archetype<sized>, usage>> == sized);
static_assert(capabilities_of<ProfileHeap<Rich, usage>> == all);
static_assert(capabilities_of<SizeTableHeap<Archetype<>>> == sized);
static_assert(capabilities_of<SizeTableHeap<Rich>> == all);
static_assert(SameSizeRecord<MallocHeap, TraceHeap<ProfileHeap<MallocHeap, usage>, trace>>);
constinit TraceHeap<ProfileHeap<SizeTableHeap<MmapHeap>, usage>, trace> heap_of_a_process;

/// The compiler knows nothing of it, and so does not warn of what the tests do on purpose.
struct OpaqueHeap : MallocHeap {
    CAIRN_NOINLINE void *reallocate(void *p, std::size_t size) { return MallocHeap::reallocate(p, size); }
    CAIRN_NOINLINE void *calloc(std::size_t count, std::size_t size) {
        return MallocHeap::calloc(count, size);
    }
    CAIRN_NOINLINE void *malloc(std::size_t size) { return MallocHeap::malloc(size); }
    CAIRN_NOINLINE void free(void *p) { MallocHeap::free(p); }
};

/// The heap on a buffer joins its blocks to one as long as the buffer, whatever the stages between the two are.
template <class... Stages>
void regions_continue_each_other() {
    using Classes = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
    const auto heap = std::make_unique<
        Compose<StaticBufferHeap<1_MiB>, Stages..., Coalesceable<4_KiB>, Seg<Classes>, Coalesce>>();
    void *blocks[500];
    for (void *&p : blocks) {
        p = heap->malloc(1000);
    }
    for (void *p : blocks) {
        heap->free(p);
    }
    EXPECT_NE(heap->malloc(1'000'000), nullptr);
}

TEST(Watching, LeavesTheRegionsOfAContiguousHeapTogether) {
    regions_continue_each_other<>();
    regions_continue_each_other<Trace<trace>>();
    regions_continue_each_other<SizeTable<>>();
    regions_continue_each_other<SizeTable<>, Profile<usage>>();
}

TEST(ProfileHeap, CountsWhatWasThrown) {
    static constinit Usage seen;
    Compose<StaticBufferHeap<64>, SizeHeader, ThrowException, Profile<seen>> heap;
    EXPECT_THROW(static_cast<void>(heap.malloc(100)), std::bad_alloc);
    heap.free(heap.malloc(16));
    EXPECT_EQ(seen.failures.all(), 1u);
}

TEST(ProfileHeap, CountsBlocksAndBytes) {
    static constinit Usage seen;
    {
        Compose<MmapHeap, Profile<seen>> heap;
        heap.malloc(100);
        void *const b = heap.malloc_zeroed(5000);
        EXPECT_EQ(seen.blocks.now(), 2u);
        EXPECT_EQ(seen.bytes.now(), 4_KiB + 8_KiB);
        heap.free(b);
        heap.free(nullptr);
        heap.memalign(8_KiB, 1);
        EXPECT_EQ(heap.malloc(SIZE_MAX), nullptr);
        EXPECT_EQ(seen.blocks.now(), 2u);
        EXPECT_EQ(seen.bytes.now(), 8_KiB);
        EXPECT_EQ(seen.bytes.peak(), 12_KiB);
        EXPECT_EQ(seen.blocks.peak(), 2u);
        EXPECT_EQ(seen.allocations.all(), 3u);
        EXPECT_EQ(seen.asked.all(), 5101u);
        EXPECT_EQ(seen.given.all(), 16_KiB);
        EXPECT_EQ(seen.frees.all(), 1u);
        EXPECT_EQ(seen.failures.all(), 1u);
        EXPECT_EQ(seen.sizes[1].all(), 1u) << "1 byte";
        EXPECT_EQ(seen.sizes[7].all(), 1u) << "64 to 127";
        EXPECT_EQ(seen.sizes[13].all(), 1u) << "4096 to 8191";
        heap.clear();
        EXPECT_EQ(seen.blocks.now(), 0u);
        heap.malloc(1);
    }
    EXPECT_EQ(seen.blocks.now(), 0u) << "it went with its heap";
    EXPECT_EQ(seen.bytes.now(), 0u);
    EXPECT_EQ(seen.frees.all(), 1u) << "nobody freed it";
}

TEST(ProfileHeap, CountsWhatIsReallocated) {
    static constinit Usage seen;
    Compose<MmapHeap, SizeHeader, Ansi, Profile<seen>> heap;
    void *p = heap.reallocate(nullptr, 100);
    p = heap.reallocate(p, 10'000);
    EXPECT_EQ(seen.bytes.now(), 10'000u);
    EXPECT_EQ(heap.reallocate(p, SIZE_MAX), nullptr);
    EXPECT_EQ(seen.bytes.now(), 10'000u);
    EXPECT_EQ(seen.failures.all(), 1u);
    EXPECT_EQ(heap.reallocate(p, 0), nullptr);
    EXPECT_EQ(seen.bytes.now(), 0u);
    EXPECT_EQ(seen.bytes.peak(), 10'000u);
    EXPECT_EQ(seen.allocations.all(), 2u);
    EXPECT_EQ(seen.frees.all(), 2u);
    EXPECT_EQ(seen.failures.all(), 1u);
}

constinit Usage taken;
constinit Usage rounded;
constinit Usage used;

TEST(ProfileHeap, TwoOfThemTellTheFragmentation) {
    using Classes = GeometricSizeClasses<4_KiB, 512>;
    using Source = Compose<MmapHeap, Profile<taken>>;
    using Bin = Compose<Source, Bump<>, Freelist, SizeHeader>;
    Compose<Source, SizeHeader, Segregated<Classes, Bin>, Profile<rounded>, SizeTable<>, Profile<used>> heap;
    std::vector<void *> blocks;
    blocks.reserve(1000);
    for (int i = 0; i < 1000; ++i) {
        blocks.push_back(heap.malloc(100));
    }
    EXPECT_EQ(used.bytes.now(), 100'000u);
    EXPECT_EQ(rounded.bytes.now(), 112'000u);
    EXPECT_EQ(taken.bytes.now(), 2 * 64_KiB) << "1000 blocks of 128 bytes";
    for (void *p : blocks) {
        heap.free(p);
    }
    heap.free(heap.malloc(1000)); // of another class: what the first has is of no use to it
    EXPECT_EQ(used.bytes.now(), 0u);
    EXPECT_EQ(taken.bytes.peak(), 3 * 64_KiB);
    EXPECT_DOUBLE_EQ(fragmentation(taken, used), 3 * 64 * 1024 / 100'000.0);
    EXPECT_DOUBLE_EQ(fragmentation(rounded, used), 1.12);
    static constinit Usage nothing;
    EXPECT_DOUBLE_EQ(fragmentation(nothing, nothing), 1.0);
}

TEST(ProfileHeap, WritesItDown) {
    static constinit Usage seen;
    Compose<MmapHeap, SizeHeader, Profile<seen>> heap;
    heap.free(heap.malloc(100));
    testing::internal::CaptureStderr();
    write_usage("top", seen);
    write_fragmentation(seen, seen);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "cairn: top: 0 bytes in 0 blocks, at most 100 bytes, 1 blocks; 1 allocations of 100 bytes, "
              "rounded to "
              "100; 1 frees, 0 failures\n"
              "cairn: top: 1 requests from 64 bytes\n"
              "cairn: fragmentation: 100 percent: at most 100 bytes taken for at most 100 bytes used\n");
}

TEST(SizeTableHeap, RemembersWhatWasAskedFor) {
    Compose<OpaqueHeap, SizeTable<>> heap;
    void *p = heap.malloc(33);
    EXPECT_EQ(heap.getSize(p), 33u);
    p = heap.reallocate(p, 100'000);
    EXPECT_EQ(heap.getSize(p), 100'000u);
    EXPECT_EQ(heap.reallocate(p, PTRDIFF_MAX), nullptr);
    EXPECT_EQ(heap.getSize(p), 100'000u);
    heap.free(p);
    EXPECT_EQ(heap.getSize(p), 0u);
    heap.free(nullptr);
    p = heap.reallocate(nullptr, 3);
    EXPECT_EQ(heap.getSize(p), 3u);
    heap.free(p);
}

TEST(SizeTableHeap, KnowsWhatItKnewWhenTheHeapBelowThrows) {
    Compose<OpaqueHeap, ThrowException, SizeTable<>> heap;
    void *const p = heap.malloc(33);
    EXPECT_THROW(heap.reallocate(p, PTRDIFF_MAX), std::bad_alloc);
    EXPECT_EQ(heap.getSize(p), 33u);
    heap.free(p);
    Compose<MmapHeap, ThrowException, SizeTable<>> pages;
    const std::size_t before = test::address_space();
    for (int i = 0; i < 50'000; ++i) {
        EXPECT_THROW(pages.malloc(PTRDIFF_MAX), std::bad_alloc);
    }
    EXPECT_LT(test::address_space(), before + 512_KiB) << "an entry for each block that was not to be had";
}

TEST(TraceRecord, IsReadAsItWasWritten) {
    const TraceRecord longest{UINT64_MAX, UINT64_MAX, Operation::malloc_zeroed,
                              UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (const TraceRecord &record :
         {longest, TraceRecord{}, TraceRecord{7, 0xabc, Operation::resized, 0x10, 33, 0}}) {
        char line[longest_trace_line];
        const std::size_t length = to_text(record, line);
        const char *at = line;
        TraceRecord read{1, 1, Operation::clear, 1, 1, 1};
        ASSERT_TRUE(from_text(at, line + length, read));
        EXPECT_EQ(read, record);
        EXPECT_EQ(at, line + length);
        for (std::size_t cut = 0; cut < length; ++cut) {
            at = line;
            EXPECT_FALSE(from_text(at, line + cut, read)) << cut;
            EXPECT_EQ(at, line);
        }
    }
    const std::string unknown = "1 2 mallocs 3 4 5\n";
    const char *at = unknown.data();
    TraceRecord read;
    EXPECT_FALSE(from_text(at, at + unknown.size(), read));
}

/// A file in memory, and what a trace wrote to it.
class TraceHeapTest : public testing::Test {
protected:
    ~TraceHeapTest() override { close(file_); }

    template <class T>
    std::vector<TraceRecord> records(T &from) {
        from.flush();
        EXPECT_EQ(from.lost(), 0u);
        std::string text(static_cast<std::size_t>(lseek(file_, 0, SEEK_END)), '\0');
        EXPECT_EQ(pread(file_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        std::vector<TraceRecord> all;
        TraceRecord record;
        const char *at = text.data();
        const char *const end = at + text.size();
        while (from_text(at, end, record)) {
            EXPECT_EQ(record.number, all.size() + 1);
            all.push_back(record);
        }
        EXPECT_EQ(at, end);
        return all;
    }

    const int file_ = memfd_create("trace", 0);
};

TEST_F(TraceHeapTest, WritesEveryOperationDown) {
    static constinit TraceFile<256> sink(-1); // a few lines at a time
    sink.redirect(file_);
    Compose<OpaqueHeap, Trace<sink>> heap;
    void *const a = heap.malloc(33);
    void *const b = heap.memalign(64, 100);
    void *const c = heap.calloc(10, 10);
    const std::uint64_t old = address_of(c);
    void *const d = heap.reallocate(c, 1'000'000);
    EXPECT_EQ(heap.reallocate(d, PTRDIFF_MAX), nullptr);
    EXPECT_EQ(heap.calloc(SIZE_MAX / 2, 4), nullptr);
    heap.free(a);
    heap.free(b);
    heap.free(d);
    const std::uint64_t me = platform::thread_id();
    const std::vector<TraceRecord> expected = {
        {1, me, Operation::malloc, address_of(a), 33, 0},
        {2, me, Operation::memalign, address_of(b), 100, 64},
        {3, me, Operation::malloc_zeroed, old, 100, 0},
        {4, me, Operation::resize, old, 1'000'000, 0},
        {5, me, Operation::resized, address_of(d), 1'000'000, 0},
        {6, me, Operation::resize, address_of(d), PTRDIFF_MAX, 0},
        {7, me, Operation::resized, 0, PTRDIFF_MAX, 0},
        {8, me, Operation::malloc_zeroed, 0, SIZE_MAX, 0},
        {9, me, Operation::free, address_of(a), 0, 0},
        {10, me, Operation::free, address_of(b), 0, 0},
        {11, me, Operation::free, address_of(d), 0, 0},
    };
    EXPECT_EQ(records(sink), expected);
}

/// A sink and a heap that both say when they are called.
std::vector<std::string> calls;
struct CallSink {
    void write(Operation, void *, std::size_t, std::size_t) { calls.emplace_back("sink"); }
};
constinit CallSink call_sink;
struct CallHeap {
    void *malloc(std::size_t) { return reallocate(nullptr, 0); }
    void *reallocate(void *, std::size_t) {
        calls.emplace_back("heap");
        return nullptr;
    }
    void free(void *) { calls.emplace_back("heap"); }
};

TEST_F(TraceHeapTest, WritesWhatFreesBeforeAndWhatTakesAfter) {
    TraceHeap<CallHeap, call_sink> heap;
    heap.malloc(1);
    heap.free(nullptr);
    heap.reallocate(nullptr, 1);
    EXPECT_EQ(calls, (std::vector<std::string>{"heap", "sink", "sink", "heap", "sink", "heap", "sink"}));
}

TEST_F(TraceHeapTest, TheOrderMakesSenseForAllThreads) {
    static constinit TraceFile<4_KiB> sink(-1);
    sink.redirect(file_);
    Compose<OpaqueHeap, Trace<sink>> heap;
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&heap, t] {
            void *held[8] = {};
            for (unsigned i = 0; i < 2000; ++i) {
                void *&p = held[(i * 5 + t) % 8];
                if (p == nullptr) {
                    p = heap.malloc(i % 100 + 1);
                } else if (i % 3 == 0) {
                    p = heap.reallocate(p, i % 200 + 1);
                } else {
                    heap.free(p);
                    p = nullptr;
                }
            }
            for (void *p : held) {
                if (p != nullptr) {
                    heap.free(p);
                }
            }
        });
    }
    threads.clear();
    std::set<std::uint64_t> live;
    std::set<std::uint64_t> who;
    for (const TraceRecord &record : records(sink)) {
        who.insert(record.thread);
        const bool ends = record.operation == Operation::free || record.operation == Operation::resize;
        ASSERT_EQ(ends ? live.erase(record.block) : live.insert(record.block).second, 1u)
            << "line " << record.number;
    }
    EXPECT_TRUE(live.empty());
    EXPECT_FALSE(who.empty());
    EXPECT_FALSE(who.contains(platform::thread_id()));
}

TEST_F(TraceHeapTest, AForkDoesNotDoubleLines) {
    static constinit TraceFile<> sink(-1);
    sink.redirect(file_);
    Compose<OpaqueHeap, Trace<sink>> heap;
    heap.free(heap.malloc(1));
    heap.lock_all();
    const pid_t child = fork();
    heap.unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
    if (child == 0) {
        sink.flush();
        heap.free(heap.malloc(1)); // it is not locked
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(records(sink).size(), 2u);
}

TEST_F(TraceHeapTest, AForkDoesNotDoubleLinesOfHeapsThatLock) {
    static constinit TraceFile<> sink(-1);
    sink.redirect(file_);
    using Traced = Compose<OpaqueHeap, Trace<sink>, SizeHeader, Locked<>>;
    Traced one;
    Traced another;
    one.lock_all();
    another.free(another.malloc(1));
    another.lock_all();
    const pid_t child = fork();
    for (Traced *heap : {&another, &one}) {
        heap->unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
    }
    if (child == 0) {
        sink.flush();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(records(sink).size(), 2u);
}

TEST_F(TraceHeapTest, OfOneSinkTheLockIsTakenOnceAcrossAFork) {
    struct Sink {
        static void write(Operation, void *, std::size_t, std::size_t) {}
        void lock_all() { ++held; }
        void unlock_all(sync::AfterFork) { --held; }
        int held = 0;
    };
    static constinit Sink sink;
    Compose<OpaqueHeap, Trace<sink>, SizeHeader, Trace<sink>, ThreadOwned<3>> heap;
    heap.lock_all();
    EXPECT_EQ(sink.held, 1);
    heap.unlock_all(sync::AfterFork::in_parent);
    EXPECT_EQ(sink.held, 0);
}

TEST_F(TraceHeapTest, WritesWhatWasThrown) {
    static constinit TraceFile<> sink(-1);
    sink.redirect(file_);
    Compose<StaticBufferHeap<64>, ThrowException, Trace<sink>> heap;
    EXPECT_THROW(static_cast<void>(heap.malloc(100)), std::bad_alloc);
    const TraceRecord expected{1, platform::thread_id(), Operation::malloc, 0, 100, 0};
    EXPECT_EQ(records(sink), std::vector{expected});
}

TEST_F(TraceHeapTest, WhatCanNotBeWrittenIsCounted) {
    static constinit TraceFile<> sink(-1);
    Compose<OpaqueHeap, Trace<sink>> heap;
    heap.free(heap.malloc(1));
    sink.flush();
    EXPECT_GT(sink.lost(), 0u);
}

} // namespace
