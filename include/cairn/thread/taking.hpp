// SPDX-License-Identifier: MIT
//
// Taking: how a visiting thread takes superblocks from a heap whose owner thread may be using one of them.
//
// Adds:    take, after which the owner does not find the superblock any more; find_owner, a heavy fence and then the
//          owner's hazard word, which says what the owner may still be using; in_use; put_back.
// Needs:   ThreadHeap, and a visit to it (sync::Presence).
// Keeps:   a superblock that was taken and is not in use belongs to the visiting thread alone, until it is put back
//          or given away.
// Threads: the visiting thread.
// Errors:  without a heavy fence every superblock is in use.
// Cost:    one heavy fence for up to `batch` superblocks.
#pragma once

#include <cairn/thread/thread_heap.hpp>

#include <utility>

namespace cairn {

template <class Heap>
class Taking {
public:
    static constexpr unsigned batch = 64;

    explicit Taking(Heap &heap_of_another) : heap_(heap_of_another) {}

    /// Hides a superblock from the owner's fast paths.
    void take(OwnerLine *s) {
        set_owner(s, nullptr); // ordered, as the store to the bin is, by the heavy fence in find_owner()
        recent().hide(s);
        if (s->place == Place::current) {
            heap_.bins().hide(s->size_class);
        }
        superblocks_[count_++] = s;
    }

    /// Takes superblocks of an inbox's list while there is room. Returns the others.
    OwnerLine *take_list(OwnerLine *pending) {
        while (pending != nullptr && !full()) {
            // relaxed: the inbox's take() has acquired it.
            OwnerLine *const next = remote_of(pending)->pending_next.load(std::memory_order_relaxed);
            take(std::exchange(pending, next));
        }
        return pending;
    }

    /// Takes the superblocks of all bins.
    void take_bins() {
        for (unsigned c = 0; c < Heap::Classes::count; ++c) {
            if (!heap_.bins().is_empty(c)) {
                take(heap_.bins().at(c));
            }
        }
    }

    bool full() const { return count_ >= batch; }
    bool empty() const { return count_ == 0; }
    unsigned count() const { return count_; }

    /// Whether a superblock of this heap was taken. relaxed: the visiting thread's own store.
    static bool has(const OwnerLine *s) {
        return shared_of(s)->owner.load(std::memory_order_relaxed) == nullptr;
    }

    /// Keeps the superblocks for which keep(superblock, number) is true. It may do anything with the superblock.
    template <class Keep>
    void keep_if(Keep keep) {
        unsigned kept = 0;
        for (unsigned i = 0; i < count_; ++i) {
            OwnerLine *const s = superblocks_[i];
            if (keep(s, i)) {
                superblocks_[kept++] = s;
            }
        }
        count_ = kept;
    }

    /// To call before the superblocks are used. False if the fence failed: each of them may be in use.
    bool find_owner() { return known_ = heap_.presence().owner_uses(owner_at_); }

    /// Whether the owner may be using the superblock. A free uses its block's superblock, a malloc that of its
    /// class's bin, or the recent one. A free that was under way when the superblock was taken may have shown it again
    /// to the next malloc.
    bool in_use(const OwnerLine *s) const {
        return !known_ || owner_at_ == address_of(s) || recent().is_shown(s) ||
               (owner_at_ == s->size_class && (s->place == Place::current || recent().is_hidden(s)));
    }

    /// The owner finds the superblock again: in its bin, or in the list that matches its account.
    void put_back(OwnerLine *s) {
        heap_.holdings().own(s);
        if (s->place == Place::current) {
            heap_.bins().fill(s->size_class, s);
        } else if (s->place == Place::nowhere) {
            heap_.holdings().put(s);
        }
    }

private:
    auto &recent() const { return heap_.holdings().recent(); }

    Heap &heap_;
    OwnerLine *superblocks_[batch + Heap::Classes::count]; ///< a batch, and the superblocks of all bins
    unsigned count_ = 0;
    sync::Presence::Thing owner_at_ = sync::Presence::nothing;
    bool known_ = false;
};

} // namespace cairn
