// SPDX-License-Identifier: MIT
//
// Free remote: a thread frees a block of a superblock that another heap owns.
//
// Adds:    one operation, which gathers blocks of one superblock (Gathering) where a visitor could come for them.
// Needs:   ThreadHeap: its gathering, presence and attendance.
// Keeps:   a visitor and the thread are not in the gathering together.
// Threads: the heap's own.
// Cost:    some 35 instructions; one compare-exchange a chain, and a block that is in none.
#pragma once

#include <cairn/thread/thread_heap.hpp>

namespace cairn {

/// For a thread that uses what it has gathered: no visitor is in.
template <class Heap>
CAIRN_INLINE bool begin_gathering(Heap &heap) {
    sync::Presence &presence = heap.presence();
    if (CAIRN_UNLIKELY(presence.fenced())) { // there are no short sections
        return false;
    }
    presence.begin(&heap.gathering());
    const bool alone = presence.unvisited();
    if (CAIRN_UNLIKELY(!alone)) {
        presence.end();
    }
    return alone;
}

/// Another superblock is to have the place.
template <class Heap, class Tell>
CAIRN_NOINLINE void give_chain(Heap &heap, GatheredChain &chain, Tell tell) {
    if (begin_gathering(heap)) {
        const superblock::RemoteFree left = chain.empty() ? superblock::RemoteFree{} : chain.give();
        heap.presence().end();
        tell(left);
    }
}

/// Into the chain of its superblock. False if that can not be now.
template <class Heap, class Tell>
CAIRN_INLINE bool gather(Heap &heap, GatheredChain &chain, const SharedLine *shared, std::uintptr_t block,
                         Tell tell) {
    if (CAIRN_UNLIKELY(shared->gather == 0) || !begin_gathering(heap)) {
        return false;
    }
    const bool begins = chain.empty();
    if (!chain.add(shared, block)) {
        heap.presence().end();
        if (begins) {
            heap.attendance.come_by();
            tell.begun();
        }
        return true;
    }
    const superblock::RemoteFree left = chain.give();
    heap.presence().end();
    tell(left);
    return true;
}

/// What most do: a block joins others in the chain of its superblock, and nobody is told. Ends the section that may be on.
template <class Heap>
CAIRN_INLINE bool join_chain(Heap &heap, const OwnerLine *s, std::uintptr_t block) {
    const SharedLine *const shared = shared_of(s);
    const bool joined = begin_gathering(heap) && heap.gathering().chain_of(shared).join(s, shared, block);
    heap.presence().end();
    return joined;
}

/// To tell(left) goes what is left to do, tell.begun() is for a chain that begins: somebody may have to come for it.
template <class Heap, class Tell>
void free_remote(Heap &heap, OwnerLine *s, std::uintptr_t block, Tell tell) {
    const SharedLine *const shared = shared_of(s);
    GatheredChain &chain = heap.gathering().chain_of(shared);
    if (chain.is_of(s)) {
        if (gather(heap, chain, shared, block, tell)) {
            return;
        }
    } else if (heap.gathering().is_open()) {
        if (CAIRN_UNLIKELY(!chain.empty())) {
            give_chain(heap, chain, tell);
        }
        if (CAIRN_LIKELY(chain.empty())) {
            chain.change_to(s);
        }
    }
    tell(superblock::free_remote(s, block));
}

} // namespace cairn
