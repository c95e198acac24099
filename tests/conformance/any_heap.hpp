// SPDX-License-Identifier: MIT
//
// Any heap, behind pointers to functions: what the suite does with heaps is compiled once, and not for each of them.
#pragma once

#include "traits.hpp"

namespace cairn::conformance {

/// What a heap can be asked; nullptr: it has not this capability.
struct Calls {
    void *(*malloc)(void *, std::size_t) = nullptr;
    void (*free)(void *, void *) = nullptr;
    std::size_t (*get_size)(void *, void *) = nullptr;
    bool (*owns)(void *, void *) = nullptr;
    void *(*memalign)(void *, std::size_t, std::size_t) = nullptr;
    void *(*malloc_zeroed)(void *, std::size_t) = nullptr;
    void *(*reallocate)(void *, void *, std::size_t) = nullptr;
    void *(*calloc)(void *, std::size_t, std::size_t) = nullptr;
    std::size_t (*remaining)(void *) = nullptr;
    void (*clear)(void *) = nullptr;
};

template <Heap H>
constexpr Calls calls_of = [] {
    Calls calls;
    calls.malloc = [](void *heap, std::size_t size) -> void * {
        return static_cast<H *>(heap)->malloc(size);
    };
    calls.free = [](void *heap, void *p) { static_cast<H *>(heap)->free(p); };
    if constexpr (SizedHeap<H>) {
        calls.get_size = [](void *heap, void *p) -> std::size_t {
            return static_cast<H *>(heap)->getSize(p);
        };
    }
    if constexpr (OwningHeap<H>) {
        calls.owns = [](void *heap, void *p) -> bool { return static_cast<H *>(heap)->owns(p); };
    }
    if constexpr (AlignedHeap<H>) {
        calls.memalign = [](void *heap, std::size_t alignment, std::size_t size) -> void * {
            return static_cast<H *>(heap)->memalign(alignment, size);
        };
    }
    if constexpr (ZeroingHeap<H>) {
        calls.malloc_zeroed = [](void *heap, std::size_t size) -> void * {
            return static_cast<H *>(heap)->malloc_zeroed(size);
        };
    }
    if constexpr (ReallocatingHeap<H>) {
        calls.reallocate = [](void *heap, void *p, std::size_t size) -> void * {
            return static_cast<H *>(heap)->reallocate(p, size);
        };
    }
    if constexpr (ArrayHeap<H>) {
        calls.calloc = [](void *heap, std::size_t count, std::size_t size) -> void * {
            return static_cast<H *>(heap)->calloc(count, size);
        };
    }
    if constexpr (BoundedHeap<H>) {
        calls.remaining = [](void *heap) -> std::size_t { return static_cast<H *>(heap)->remaining(); };
    }
    if constexpr (ClearableHeap<H>) {
        calls.clear = [](void *heap) { static_cast<H *>(heap)->clear(); };
    }
    return calls;
}();

/// A heap that somebody else keeps alive. Names as the heaps have them.
class AnyHeap {
public:
    template <class H>
        requires(!std::same_as<H, AnyHeap> && Heap<H>)
    explicit AnyHeap(H &heap) : heap_(&heap), calls_(&calls_of<H>) {}

    const Calls &can() const { return *calls_; }

    void *malloc(std::size_t size) const { return calls_->malloc(heap_, size); }
    void free(void *p) const { calls_->free(heap_, p); }
    std::size_t getSize(void *p) const { return calls_->get_size(heap_, p); }
    bool owns(void *p) const { return calls_->owns(heap_, p); }
    void *memalign(std::size_t alignment, std::size_t size) const {
        return calls_->memalign(heap_, alignment, size);
    }
    void *malloc_zeroed(std::size_t size) const { return calls_->malloc_zeroed(heap_, size); }
    void *reallocate(void *p, std::size_t size) const { return calls_->reallocate(heap_, p, size); }
    void *calloc(std::size_t count, std::size_t size) const { return calls_->calloc(heap_, count, size); }
    std::size_t remaining() const { return calls_->remaining(heap_); }
    void clear() const { calls_->clear(heap_); }

private:
    void *heap_;
    const Calls *calls_;
};

/// What requests of a row's heap are like.
struct Requests {
    std::size_t fixed_size;
    std::size_t max_size;
    std::size_t (*alignment_for)(std::size_t);
};

/// T is the row, H its heap or the same over another source.
template <class T, Heap H = typename T::Heap>
constexpr Requests requests_of = {T::fixed_size, T::max_size, [](std::size_t size) -> std::size_t {
                                      const std::size_t promised = T::alignment_for(size);
                                      return std::same_as<H, typename T::Heap>
                                                 ? promised
                                                 : std::min(promised, alignment_of<H>);
                                  }};

/// A heap for the length of a scope.
class AnyInstance {
public:
    template <Heap H>
    AnyInstance(H *heap, void (*destroy)(void *)) : heap_(*heap), place_(heap), destroy_(destroy) {}
    ~AnyInstance() { destroy_(place_); }
    AnyInstance(const AnyInstance &) = delete;
    AnyInstance &operator=(const AnyInstance &) = delete;

    AnyHeap operator*() const { return heap_; }
    const AnyHeap *operator->() const { return &heap_; }

private:
    AnyHeap heap_;
    void *place_;
    void (*destroy_)(void *);
};

/// A row.
struct Kind {
    bool has_many;
    bool reuses;
    bool releases_live;
    bool c_semantics;
    bool thread_safe;

    Calls can;
    Requests requests;
    AnyInstance (*create)();

    Requests requests_over_watched; ///< the same over the watched source
    AnyInstance (*create_over_watched)() = nullptr;
};

template <class T>
constexpr Kind kind_of = [] {
    using H = typename T::Heap;
    Kind kind{T::has_many,
              T::reuses,
              T::releases_live,
              T::c_semantics,
              T::thread_safe,
              calls_of<H>,
              requests_of<T>,
              [] { return AnyInstance(T::create(), [](void *heap) { T::destroy(static_cast<H *>(heap)); }); },
              {},
              nullptr};
    if constexpr (OverAnySource<T>) {
        using Over = typename T::template Over<WatchedSource>;
        kind.requests_over_watched = requests_of<T, Over>;
        kind.create_over_watched = [] {
            return AnyInstance(new Over, [](void *heap) { delete static_cast<Over *>(heap); });
        };
    }
    return kind;
}();

} // namespace cairn::conformance
