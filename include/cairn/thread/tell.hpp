// SPDX-License-Identifier: MIT
//
// Tell: delivers a notice about remote frees to the owner of their superblock.
//
// Adds:    tell_now, tell_all.
// Needs:   HeapRegistry, GlobalHeap.
// Keeps:   a notice reaches the owner of the superblock, which may be the global heap. A heap in which other threads
//          have freed more than the slack, and which has not accounted for it, is added to those to visit.
// Threads: any that holds no lock and is not visiting a heap.
// Cost:    a push, sometimes a lock; once in some tens of remote frees.
// Source:  Hoard, section 3.4, where each free does this.
#pragma once

#include <cairn/thread/heap_registry.hpp>

namespace cairn {

/// `left`: what a remote free has left to do; not nothing.
template <class Global>
CAIRN_COLD void tell_now(HeapRegistry<Global> &registry, Global &global, const superblock::RemoteFree &left) {
    Inbox *const inbox = left.is_notice() ? global.notice(left.superblock, left.word)
                                          : global.notices().inbox(left.word.owner());
    if (inbox == nullptr) {
        return;
    }
    if (inbox->is_unowned()) {
        registry.tend(*inbox);
        return;
    }
    inbox->note_freed(left.bytes);
    if (inbox->pending_bytes() >= Global::Emptiness::slack) {
        global.notices().wanted_visits().add(*inbox); // its owner has taken no slow path since
    }
}

/// Delivers the notices that the return of several gathered chains has left to do.
template <class Global>
void tell_all(HeapRegistry<Global> &registry, Global &global, const Gathering::AllLeft &all) {
    for (const Gathering::Left &left : all) {
        if (!left.is_done()) {
            tell_now(registry, global, left);
        }
    }
}

} // namespace cairn
