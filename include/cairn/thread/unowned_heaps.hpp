// SPDX-License-Identifier: MIT
//
// Unowned heaps: the thread heaps that no thread has.
//
// Adds:    put; take, of the heap that an heir wants, or of the one that was put last.
// Needs:   a heap's inbox, and its links.
// Keeps:   the inbox of a heap in the list says that the heap is unowned; threads that send notices read this there.
// Threads: the caller holds the registry's lock.
// Cost:    a few loads and stores.
#pragma once

namespace cairn {

template <class Heap>
class UnownedHeaps {
public:
    constexpr UnownedHeaps() = default;

    /// No thread has the heap from now on.
    void put(Heap *heap) {
        heap->previous_unowned = nullptr;
        heap->next_unowned = first_;
        if (first_ != nullptr) {
            first_->previous_unowned = heap;
        }
        first_ = heap;
        heap->inbox().set_unowned(true);
    }

    /// Takes `wanted` out if it is in the list, else the heap that was put last; nullptr where there is none.
    Heap *take(Heap *wanted) {
        Heap *const heap = wanted != nullptr && wanted->inbox().is_unowned() ? wanted : first_;
        if (heap == nullptr) {
            return nullptr;
        }
        (heap->previous_unowned != nullptr ? heap->previous_unowned->next_unowned : first_) =
            heap->next_unowned;
        if (heap->next_unowned != nullptr) {
            heap->next_unowned->previous_unowned = heap->previous_unowned;
        }
        heap->inbox().set_unowned(false);
        return heap;
    }

private:
    Heap *first_ = nullptr;
};

} // namespace cairn
