// SPDX-License-Identifier: MIT
//
// TraceHeap: writes every operation down.
//
// Adds:    a record of each call that takes, frees or moves a block, in a sink that the template names.
// Needs:   a heap; a sink, such as TraceFile.
// Keeps:   all capabilities of the heap below, the way sizes are recorded, every size and every pointer. What frees is
//          written before the heap below is called, what takes after: in the order of the trace no block is handed out
//          while it is live, whatever the threads do.
// Threads: those of the heap below and of the sink.
// Errors:  those of the heap below; requests that it could not serve, or that threw, are written with no block.
// Cost:    the sink's.
// Source:  Heap Layers, Table 1: TraceHeap.
#pragma once

#include <cairn/core/at_end.hpp>
#include <cairn/core/concepts.hpp>
#include <cairn/debug/trace_record.hpp>
#include <cairn/layer/region_end.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn {

/// write(operation, block, size, alignment): it happened, in this thread. Must not throw, nor call the heap that is
/// traced.
template <class S>
concept TraceSink = requires(S &sink, void *block, std::size_t n) {
    { sink.write(Operation::malloc, block, n, n) } -> std::same_as<void>;
};

namespace detail {
/// By how many layers, across a fork, by the thread that does.
template <auto &Sink>
inline constinit thread_local unsigned sink_held = 0;
} // namespace detail

template <Heap Super, auto &Sink>
    requires TraceSink<decltype(Sink)>
class TraceHeap : public detail::SameRecordAs<Super> {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>, joins = Joins<Super>,
                          takes_others = TakesOthers<Super>, contiguous = ContiguousHeap<Super>;

    void *malloc(std::size_t size) {
        return took(Operation::malloc, size, 0, [&] { return heap_.malloc(size); });
    }

    void free(void *p) {
        Sink.write(Operation::free, p, 0, 0);
        heap_.free(p);
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return took(Operation::memalign, size, wanted, [&] { return heap_.memalign(wanted, size); });
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return took(Operation::malloc_zeroed, size, 0, [&] { return heap_.malloc_zeroed(size); });
    }

    /// Written as malloc_zeroed; a product that does not fit as SIZE_MAX.
    void *calloc(std::size_t count, std::size_t size)
        requires ArrayHeap<Super>
    {
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(count, size, &bytes)) {
            bytes = SIZE_MAX;
        }
        return took(Operation::malloc_zeroed, bytes, 0, [&] { return heap_.calloc(count, size); });
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        Sink.write(Operation::resize, p, size, 0);
        return took(Operation::resized, size, 0, [&] { return heap_.reallocate(p, size); });
    }

    std::size_t getSize(void *p) const
        requires(SizedHeap<Super> && !SelfSizedHeap<Super>)
    {
        return heap_.getSize(p);
    }

    static std::size_t getSize(void *p)
        requires SelfSizedHeap<Super>
    {
        return Super::getSize(p);
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return heap_.owns(p);
    }

    std::size_t remaining() const
        requires BoundedHeap<Super>
    {
        return heap_.remaining();
    }

    void clear()
        requires ClearableHeap<Super>
    {
        Sink.write(Operation::clear, nullptr, 0, 0);
        heap_.clear();
    }

    /// Several layers, or heaps in a row, may write to one sink: first those with a lock above the layer, whose threads
    /// wait for the sink with that lock held. The fork would wait for them. Below a layer that does not pass this on
    /// (Freelist), flush the sink with the locks held, or parent and child write the same lines.
    void lock_all() {
        sync::lock_heap_across_fork(heap_);
        if (detail::sink_held<Sink> ++== 0) {
            sync::lock_heap_across_fork(Sink);
        }
    }
    void unlock_all(sync::AfterFork side) {
        if (--detail::sink_held<Sink> == 0) {
            sync::unlock_heap_after_fork(Sink, side);
        }
        sync::unlock_heap_after_fork(heap_, side);
    }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        heap_.begin_in_child();
    }

private:
    /// Written when it is over, also by an exception.
    template <class F>
    static void *took(Operation operation, std::size_t size, std::size_t wanted, F ask) {
        void *block = nullptr;
        const AtEnd written([&] { Sink.write(operation, block, size, wanted); });
        return block = ask();
    }

    Super heap_;
};

template <auto &Sink>
struct Trace {
    template <class Super>
    using on = TraceHeap<Super, Sink>;
};

} // namespace cairn
