// SPDX-License-Identifier: MIT
//
// Process heap: the one heap of the process, and what the C and C++ entry points and reports may ask of it.
//
// Threads: any.
#pragma once

#include "options.hpp"
#include "process.hpp"

#include <allocators/cairn.hpp>

namespace cairn::process_heap {

/// What the heap tells of itself: a thread got its heap, memory was taken from the operating system, free
/// memory lies about.
struct Hooks {
    static bool attached() noexcept;
    static void grew() noexcept;
    static void surplus() noexcept;
    static void returned() noexcept;
};

using Heap = Flagship<Hooks>;

/// Constant-initialised, never destroyed.
extern constinit Heap heap;

/// Without first-class heaps.
void statistics(Statistics &out) noexcept;

/// Takes options over, from the environment or mallopt.
void apply(const Options &options) noexcept;

/// A heap of its own inside the process, whose blocks can be freed all at once.
struct FirstClassHeap;
FirstClassHeap *create() noexcept;
void *allocate(FirstClassHeap *heap, std::size_t size, std::size_t alignment) noexcept;
void deallocate(FirstClassHeap *heap, void *p) noexcept;
void destroy(FirstClassHeap *heap) noexcept;

} // namespace cairn::process_heap
