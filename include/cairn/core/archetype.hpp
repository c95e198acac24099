// SPDX-License-Identifier: MIT
//
// Archetype: the smallest heap that satisfies a given set of concepts. A layer that compiles on the archetype of its
// declared concepts has no undeclared requirement.
//
// Adds:    exactly the capabilities of `Set`; no copying, no stated alignment.
// Needs:   nothing.
// Keeps:   an archetype is always out of memory, so a layer that runs on it handles nullptr from below.
// Threads: any.
// Cost:    for tests; nothing in it is worth running.
#pragma once

#include <cairn/core/capability.hpp>
#include <cairn/core/concepts.hpp>

namespace cairn {

template <Capability Set = Capability::none>
class Archetype {
    static constexpr bool has(Capability one) { return includes(Set, one); }

public:
    Archetype() = default;
    Archetype(const Archetype &) = delete;
    Archetype &operator=(const Archetype &) = delete;

    void *malloc(std::size_t) { return nullptr; }
    void free(void *) {}

    std::size_t getSize(void *) const
        requires(has(Capability::sized))
    {
        return 0;
    }
    void clear()
        requires(has(Capability::clearable))
    {}
    void *memalign(std::size_t, std::size_t)
        requires(has(Capability::aligned))
    {
        return nullptr;
    }
    void *reallocate(void *, std::size_t)
        requires(has(Capability::reallocating))
    {
        return nullptr;
    }
    void *malloc_zeroed(std::size_t)
        requires(has(Capability::zeroing))
    {
        return nullptr;
    }
    void *calloc(std::size_t, std::size_t)
        requires(has(Capability::array))
    {
        return nullptr;
    }
    bool owns(const void *) const
        requires(has(Capability::owning))
    {
        return false;
    }
    std::size_t remaining() const
        requires(has(Capability::bounded))
    {
        return 0;
    }
};

static_assert(capabilities_of<Archetype<>> == Capability::none);
static_assert(capabilities_of<Archetype<Capability::all>> == Capability::all);

/// The smallest heap whose blocks record their own size (SelfSizedHeap).
class SelfSizedArchetype {
public:
    struct SizeRecord;

    SelfSizedArchetype() = default;
    SelfSizedArchetype(const SelfSizedArchetype &) = delete;
    SelfSizedArchetype &operator=(const SelfSizedArchetype &) = delete;

    void *malloc(std::size_t) { return nullptr; }
    void free(void *) {}
    static std::size_t getSize(void *) { return 0; }
};

static_assert(SelfSizedHeap<SelfSizedArchetype>);
static_assert(capabilities_of<SelfSizedArchetype> == Capability::sized);

} // namespace cairn
