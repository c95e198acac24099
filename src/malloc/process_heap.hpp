// SPDX-License-Identifier: MIT
//
// Process heap: the malloc's heap, one for the process, and the functions for the C and C++ interfaces and for reports.
//
// Threads: any.
#pragma once

#include "options.hpp"
#include "process.hpp"

#include <allocators/cairn.hpp>

namespace cairn::process_heap {

/// The functions that the heap calls, with no lock held.
struct Hooks {
    static bool attached() noexcept; ///< the thread got a thread heap; false: its end cannot be noticed
    static void grew() noexcept;     ///< memory was taken from the operating system
    static void surplus() noexcept;  ///< more free memory is resident than the limit
    static void returned() noexcept; ///< a thread that was reported inactive ran a slow path
};

using Heap = Flagship<Hooks>;

/// Constant-initialised, never destroyed.
extern constinit Heap heap;

/// The statistics of the process heap, without first-class heaps.
void statistics(Statistics &out) noexcept;

/// Puts options into force, from the environment or from mallopt().
void apply(const Options &options) noexcept;

/// A separate heap inside the process, whose blocks can be freed all at once; the functions of cairn_heap (cairn.h).
struct FirstClassHeap;
FirstClassHeap *create() noexcept;
void *allocate(FirstClassHeap *heap, std::size_t size, std::size_t alignment) noexcept;
void deallocate(FirstClassHeap *heap, void *p) noexcept;
void destroy(FirstClassHeap *heap) noexcept;

} // namespace cairn::process_heap
