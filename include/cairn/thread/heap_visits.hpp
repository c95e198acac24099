// SPDX-License-Identifier: MIT
//
// Heap visits: which heaps are visited, and when.
//
// Adds:    visit_wanted, before memory is taken that nothing has used yet: heaps that may hold too much; visit_until_enough, after it
//          was touched; retire_inactive_heaps, now and then while memory grows, and by the purger's clock: those whose threads do not come by;
//          retire_all, when memory is short.
// Needs:   HeapRegistry, Visit.
// Keeps:   memory grows only while no heap is known to hold more than the discipline allows, apart from those whose
//          owners are inside.
// Threads: any that holds no lock.
// Cost:    visit_wanted: a lock, and a visit; nothing while no heap holds too much.
// Source:  Hoard, section 3.4, where each free does this; docs/decisions/visits-before-growth.md.
#pragma once

#include <cairn/platform/futex.hpp>
#include <cairn/thread/tell.hpp>
#include <cairn/thread/visit.hpp>

namespace cairn {

/// Longer than a ready thread waits for a processor.
inline constexpr std::uint64_t inactive_after_milliseconds = 200;

/// It may hold too much, and its thread has not come by. False if nobody could get in.
template <class Heap>
bool visit_to_settle(Heap &heap_of_another) {
    Visit<Heap> visit(heap_of_another);
    if (visit) {
        visit.settle();
    }
    return static_cast<bool>(visit);
}

/// It has not come by for long, or memory is short. Others are told after the visit: that takes locks that come before it. False if
/// nobody could get in, but may another time.
template <class Global>
bool visit_to_retire(HeapRegistry<Global> &registry, ThreadHeap<Global> &heap_of_another) {
    Gathering::AllLeft all;
    bool done = true;
    if (Visit visit(heap_of_another); visit) {
        visit.retire();
        if (Gathering &chains = heap_of_another.gathering();
            !heap_of_another.presence().owner_is_at(&chains)) {
            all = chains.give_all();
        }
    } else {
        done = platform::heavy_fence_missing();
    }
    tell_all(registry, heap_of_another.holdings().global(), all);
    return done;
}

/// The next heap into which others have freed much, or whose bins hold much, unless its thread has come by since and found it
/// otherwise. False if there is none but `mine`, which settles by itself. Those whose owners are inside stay on the list, behind the
/// others; there may be many, so after some the search goes on another time.
template <class Global>
bool visit_wanted(HeapRegistry<Global> &registry, Global &global, const void *mine) {
    constexpr unsigned most_missed = 64;
    unsigned missed = 0;
    WantedVisits::Pass pass;
    while (Inbox *const inbox = missed == most_missed ? nullptr : registry.next_wanted(global, pass)) {
        const bool overdrawn = inbox->overdrawn.load(std::memory_order_relaxed); // relaxed: a hint
        if (inbox->is_unowned() || (!overdrawn && inbox->pending_bytes() < Global::Emptiness::slack)) {
            continue;
        }
        if (inbox->heap != mine) {
            if (visit_to_settle(*static_cast<ThreadHeap<Global> *>(inbox->heap))) {
                return true;
            }
            inbox->asked.store(true, std::memory_order_relaxed); // relaxed: a hint
        }
        global.notices().wanted_visits().add(*inbox);
        ++missed;
    }
    return false;
}

/// Memory was touched for which nothing that lay free could go back: visits that may find something for the next time. Heaps that
/// were put on the list last come first, and may have nothing to give yet: hence several.
template <class Global>
void visit_until_enough(HeapRegistry<Global> &registry, Global &global, const void *mine) {
    constexpr std::size_t enough = 16_MiB;
    constexpr unsigned most_visits = 32;
    for (unsigned visits = 0;
         visits < most_visits && global.free_touched() < enough && visit_wanted(registry, global, mine);
         ++visits) {
    }
}

/// Looks at the next few heaps: one whose thread has not come by for some time keeps little. Whose owner, or another visitor, was
/// inside is looked at again.
template <class Global>
void retire_inactive_heaps(HeapRegistry<Global> &registry, unsigned looks) {
    const std::uint64_t now = platform::monotonic_milliseconds();
    for (unsigned i = 0; i < looks; ++i) {
        if (auto *const heap = registry.next_inactive(now, inactive_after_milliseconds)) {
            if (!visit_to_retire(registry, *heap)) {
                heap->attendance.was_refused();
            }
        }
    }
}

/// All heaps, however short a time their threads are away.
template <class Global>
void retire_all(HeapRegistry<Global> &registry) {
    for (auto *heap = registry.first(2); heap != nullptr; heap = heap->next) {
        if (!heap->inbox().is_unowned()) {
            visit_to_retire(registry, *heap);
        }
    }
}

} // namespace cairn
