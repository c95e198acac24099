// SPDX-License-Identifier: MIT
//
// Heap visits: which heaps are visited, and when.
//
// Adds:    visit_wanted, before fresh memory is taken: heaps that may have too much free; GrowthVisits, after fresh
//          memory was touched; retire_inactive_heaps, now and then while memory grows, and by the purger's clock: heaps
//          whose threads are inactive; retire_all, when memory is short.
// Needs:   HeapRegistry, Visit.
// Keeps:   memory grows only while no heap is known to have more free than the discipline allows, apart from heaps
//          whose owners are in long sections.
// Threads: any that holds no lock.
// Cost:    visit_wanted: a lock and a visit; nothing while no heap has too much free.
// Source:  Hoard, section 3.4, where each free does this; docs/decisions/visits-before-growth.md.
#pragma once

#include <cairn/platform/futex.hpp>
#include <cairn/thread/tell.hpp>
#include <cairn/thread/visit.hpp>

namespace cairn {

/// A heap is inactive when its thread has taken no slow path for so long: longer than a thread that is ready waits for
/// a processor.
inline constexpr std::uint64_t inactive_after_milliseconds = 200;

/// Visits a heap that may have too much free. False if the visiting thread could not get in.
template <class Heap>
bool visit_to_settle(Heap &heap_of_another) {
    Visit<Heap> visit(heap_of_another);
    if (visit) {
        visit.settle();
    }
    return static_cast<bool>(visit);
}

/// Visits a heap whose thread is inactive, or any heap when memory is short. Delivers notices after the visit, since
/// delivery takes locks that come before the visit's. False if the visiting thread could not get in, or a fence failed,
/// but may have more luck another time.
template <class Global>
bool visit_to_retire(HeapRegistry<Global> &registry, ThreadHeap<Global> &heap_of_another) {
    Gathering::AllLeft all;
    bool done = false;
    if (Visit visit(heap_of_another); visit) {
        done = visit.retire();
        if (Gathering &chains = heap_of_another.gathering();
            !heap_of_another.presence().owner_is_at(&chains)) {
            all = chains.give_all();
        }
    }
    tell_all(registry, heap_of_another.holdings().global(), all);
    return done || platform::heavy_fence_missing();
}

/// Visits the next heap in which other threads have freed much, or whose bins have much free; heaps that have found
/// otherwise in a slow path since are passed over. False if there is none but `mine`, which settles by itself. Heaps
/// whose owners are in long sections stay on the list, behind the others, and are asked to visit themselves; after 64
/// of them the search ends, and goes on another time.
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

/// Rounds of visits after fresh memory was touched and no free memory could go back for it, so that there is some the
/// next time. After a round that was not worth its cost comes a pause.
class GrowthVisits {
public:
    template <class Global>
    void after_growth(const WaterLine &line, HeapRegistry<Global> &registry, Global &global,
                      const void *mine) {
        // relaxed, both: a hint; a round more or less does no harm
        if (const std::size_t growth = line.total(); growth >= next_.load(std::memory_order_relaxed)) {
            const bool worth = visit_until_enough(registry, global, mine);
            next_.store(growth + (worth ? 0 : line.level() / pause_part_), std::memory_order_relaxed);
        }
    }

private:
    static constexpr unsigned pause_part_ = 16; ///< a pause lasts for this part of the touched memory

    /// Makes several visits: the heaps that were added last come first, and may have nothing to give yet. False if they
    /// have freed less than a slot each, which is worth less than a visit costs.
    template <class Global>
    static bool visit_until_enough(HeapRegistry<Global> &registry, Global &global, const void *mine) {
        constexpr std::size_t enough = 16_MiB;
        constexpr unsigned most_visits = 32;
        const std::size_t before = global.free_touched();
        unsigned visits = 0;
        while (visits < most_visits && global.free_touched() < enough &&
               visit_wanted(registry, global, mine)) {
            ++visits;
        }
        return visits == 0 || global.free_touched() >= before + visits * slot_size;
    }

    std::atomic<std::size_t> next_{0}; ///< the growth from which on the next round may come
};

/// Retires inactive heaps among the next `count` heaps in turn. A heap whose owner or another visiting thread was in a
/// section is looked at again.
template <class Global>
void retire_inactive_heaps(HeapRegistry<Global> &registry, unsigned count) {
    const std::uint64_t now = platform::monotonic_milliseconds();
    for (unsigned i = 0; i < count; ++i) {
        if (auto *const heap = registry.next_inactive(now, inactive_after_milliseconds)) {
            if (!visit_to_retire(registry, *heap)) {
                heap->attendance.was_refused();
            }
        }
    }
}

/// Retires all heaps, also those whose threads are active; but a heap not again before its thread takes a slow path or
/// another thread sends a notice: there is no more to get. False if some were refused: the purger is to look at these.
template <class Global>
bool retire_all(HeapRegistry<Global> &registry) {
    bool all = true;
    for (auto *heap = registry.first(2); heap != nullptr; heap = heap->next) {
        if (registry.is_to_retire(heap) &&
            (!visit_to_retire(registry, *heap) || heap->presence().owner_is_at(&heap->gathering()))) {
            heap->attendance.was_refused();
            all = false;
        }
    }
    return all;
}

} // namespace cairn
