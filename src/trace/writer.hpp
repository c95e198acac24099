// SPDX-License-Identifier: MIT
//
// The writer: puts records into slots, and slots into the file, without locks and without allocating.
//
// Threads: any. Each has a slot of its own.
// Errors:  when the file can not grow, or a slot not be had, tracing ends with one line, and the program goes on.
// Cost:    a record is two stores and the clock; a system call every 4,096 records; 64 KiB a running thread.
#pragma once

#include "format.hpp"

namespace cairn::trace {

/// Opens what CAIRN_TRACE names, the shared memory and the file behind a colon, and joins them. Nothing is recorded before or without.
void begin() noexcept;

/// A fork's child is a process image of its own.
void begin_in_child() noexcept;

/// Whether calls of this thread are to be recorded: tracing is on, and this is not a call that another one makes.
bool recording() noexcept;

/// The calls that happen during its life are part of one that is recorded.
class Inside {
public:
    Inside() noexcept;
    ~Inside();
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;
};

void record(Op op, const void *address, std::size_t size, std::uint64_t ticks,
            std::size_t alignment = 1) noexcept;

} // namespace cairn::trace
