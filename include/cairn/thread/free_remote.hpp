// SPDX-License-Identifier: MIT
//
// Free remote: a thread frees a block of a superblock that another heap owns.
//
// Adds:    free_remote; join_chain. They gather blocks of one superblock (Gathering) while a visiting thread could
//          take the chains over.
// Needs:   ThreadHeap: its gathering, presence and attendance.
// Keeps:   a visiting thread and the heap's thread do not use the gathering at one time.
// Threads: the heap's own.
// Cost:    some 35 instructions; one compare-exchange for each chain, and for each block that is in none.
#pragma once

#include <cairn/thread/thread_heap.hpp>

namespace cairn {

/// Begins a section on the gathering. False if there is a visit, or the heap has no short sections: then there is no
/// section.
template <class Heap>
CAIRN_INLINE bool begin_gathering(Heap &heap) {
    sync::Presence &presence = heap.presence();
    if (CAIRN_UNLIKELY(presence.fenced())) { // the heap has no short sections
        return false;
    }
    presence.begin(&heap.gathering());
    const bool alone = presence.unvisited();
    if (CAIRN_UNLIKELY(!alone)) {
        presence.end();
    }
    return alone;
}

/// Gives back the blocks of a chain that another superblock is to have.
template <class Heap, class Tell>
CAIRN_NOINLINE void give_chain(Heap &heap, GatheredChain &chain, Tell tell) {
    if (begin_gathering(heap)) {
        const superblock::RemoteFree left = chain.empty() ? superblock::RemoteFree{} : chain.give();
        heap.presence().end();
        tell(left);
    }
}

/// Puts the block into the chain of its superblock. False if that is impossible at the moment.
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

/// The common case: a block joins the others in the chain of its superblock, and no notice is due. False if not. Ends
/// the section that may be on.
template <class Heap>
CAIRN_INLINE bool join_chain(Heap &heap, const OwnerLine *s, std::uintptr_t block) {
    const SharedLine *const shared = shared_of(s);
    const bool joined = begin_gathering(heap) && heap.gathering().chain_of(shared).join(s, shared, block);
    heap.presence().end();
    return joined;
}

/// Frees a checked block. tell(left) gets what is left to do; tell.begun() is called when a chain begins: a thread
/// may have to come for it, should this one be absent.
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
