// SPDX-License-Identifier: MIT
//
// Process: the functions of an allocator library that reports and glibc's malloc functions (mallinfo, malloc_trim)
// call. The malloc and the allocators of the family each define them.
//
// Threads: any.
#pragma once

#include <cairn/core/statistics.hpp>

namespace cairn::process_heap {

/// The name by which `cairn run --allocator` selects the library.
extern const char *const allocator_name;

/// The statistics of all heaps of the process. `at_exit`: the caller may be a signal handler that has interrupted a
/// thread with a lock held; no lock is then waited for without a limit.
void whole_statistics(Statistics &out, bool at_exit = false) noexcept;

/// Gives free memory beyond `keep` bytes back to the operating system now. Returns the bytes given back.
std::size_t trim(std::size_t keep) noexcept;

/// Sets how much free memory the purge clock keeps.
void retain(std::size_t bytes) noexcept;

/// Whether dlopen() leaves RTLD_DEEPBIND as it is, so that the loaded library calls the C library's malloc.
bool binds_deeply() noexcept;

} // namespace cairn::process_heap
