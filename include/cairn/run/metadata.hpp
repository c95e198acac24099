// SPDX-License-Identifier: MIT
//
// Metadata: memory for the allocator's own data, which is never given back.
//
// Adds:    memory_for_ever: a mapping, or a run when the kernel refuses; take_for_metadata: a run.
// Needs:   RunHeap below.
// Threads: any.
// Errors:  nullptr.
// Cost:    a system call; a run where that fails.
#pragma once

#include <cairn/run/run_heap.hpp>

namespace cairn {

/// Zeroed memory in a run of its own; nullptr when out of memory.
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

/// Zeroed memory: a mapping, or a run when the kernel refuses; nullptr when out of memory.
inline void *memory_for_ever(RunHeap &runs, std::size_t bytes) {
    void *const memory = platform::vm::map(bytes);
    return memory != nullptr ? memory : take_for_metadata(runs, bytes);
}

} // namespace cairn
