// SPDX-License-Identifier: MIT
//
// Process: what reports and the C library's questions ask of a process's allocator, whichever it is.
//
// Threads: any.
#pragma once

#include <cairn/core/statistics.hpp>

namespace cairn::process_heap {

/// As `cairn run --allocator` takes it.
extern const char *const allocator_name;

/// Of all heaps of the process. `at_exit`: maybe by a handler that has interrupted who holds a lock; waits for none for ever.
void whole_statistics(Statistics &out, bool at_exit = false) noexcept;

/// Gives free memory beyond `keep` bytes back to the operating system now. Bytes given back.
std::size_t trim(std::size_t keep) noexcept;

/// From now on this much unused memory is kept.
void retain(std::size_t bytes) noexcept;

/// Whether a library that the program loads with RTLD_DEEPBIND is to be bound so, and to call the C library's malloc.
bool binds_deeply() noexcept;

} // namespace cairn::process_heap
