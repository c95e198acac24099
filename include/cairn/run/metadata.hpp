// SPDX-License-Identifier: MIT
//
// Metadata in runs: for when the kernel has no memory for it.
//
// Adds:    memory that is never given back, taken from what lies free.
// Needs:   RunHeap below.
// Threads: any.
// Errors:  nullptr.
// Cost:    a run; a system call where it was used before.
#pragma once

#include <cairn/run/run_heap.hpp>

namespace cairn {

/// Zeroed.
inline void *take_for_metadata(RunHeap &runs, std::size_t bytes) {
    const Run run = runs.allocate(static_cast<unsigned>(ceil_div(bytes, slot_size)));
    if (run.first == nullptr) {
        return nullptr;
    }
    Segment *const segment = Segment::of(run.first);
    segment->set_kinds(segment->slot_of(run.first), run.first->slots, SlotKind::metadata);
    void *const memory = reinterpret_cast<void *>(memory_of(run.first));
    if (!run.clean) {
        platform::vm::purge(memory, bytes);
    }
    return memory;
}

} // namespace cairn
