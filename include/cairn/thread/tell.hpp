// SPDX-License-Identifier: MIT
//
// Tell: what is left to do when remote frees have made a superblock worth a look.
//
// Adds:    one operation.
// Needs:   HeapRegistry, GlobalHeap.
// Keeps:   a notice gets to whoever owns the superblock, be it the global heap; a heap into which much was freed, and whose thread does
//          not come by, is one to visit.
// Threads: any that holds no lock and visits nobody.
// Cost:    a push, at times a lock; once in some tens of remote frees.
// Source:  Hoard, section 3.4, where each free does this.
#pragma once

#include <cairn/thread/heap_registry.hpp>

namespace cairn {

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
        global.notices().wanted_visits().add(*inbox); // its owner does not come by
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
