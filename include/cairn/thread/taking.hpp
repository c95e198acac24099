// SPDX-License-Identifier: MIT
//
// Taking: a visitor takes superblocks from a heap whose owner may be using one of them at this moment.
//
// Adds:    take (the owner can not find it any more), find_owner (a heavy fence, after which the owner's mark says what
//          it is still using), in_use, put_back.
// Needs:   ThreadHeap, and a visit to it (sync::Presence).
// Keeps:   what was taken and is not in use is the visitor's alone until it is put back or given away.
// Threads: the visitor.
// Errors:  without a heavy fence everything is in use.
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

    void take(OwnerLine *s) {
        set_owner(s, nullptr); // the fence orders it, and the bin
        if (s->place == Place::current) {
            heap_.bins().hide(s->size_class);
        }
        superblocks_[count_++] = s;
    }

    /// As many of the list of a inbox as there is room for; the others.
    OwnerLine *take_list(OwnerLine *told) {
        while (told != nullptr && !full()) {
            take(std::exchange(told, remote_of(told)->pending_next.load(
                                         std::memory_order_relaxed))); // relaxed: acquired there
        }
        return told;
    }

    bool full() const { return count_ >= batch; }
    bool empty() const { return count_ == 0; }
    unsigned count() const { return count_; }

    /// Whether a superblock of the heap's is among what was taken. relaxed: our own store.
    static bool has(const OwnerLine *s) {
        return shared_of(s)->owner.load(std::memory_order_relaxed) == nullptr;
    }

    /// Those for which keep(superblock, number), which may do anything with it, is false are taken no more.
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

    /// To call before what was taken is used.
    void find_owner() { known_ = heap_.presence().owner_uses(owner_at_); }

    /// A free uses its superblock, a malloc the one of its class's bin.
    bool in_use(const OwnerLine *s) const {
        return !known_ || owner_at_ == address_of(s) ||
               (owner_at_ == s->size_class && s->place == Place::current);
    }

    /// The owner finds it again, in its bin or in the place that its account says.
    void put_back(OwnerLine *s) {
        heap_.holdings().own(s);
        if (s->place == Place::current) {
            heap_.bins().fill(s->size_class, s);
        } else if (s->place == Place::nowhere) {
            heap_.holdings().places().put(s);
        }
    }

private:
    Heap &heap_;
    OwnerLine *superblocks_[batch + Heap::Classes::count]; ///< and those of all bins
    unsigned count_ = 0;
    sync::Presence::Thing owner_at_ = sync::Presence::nothing;
    bool known_ = false;
};

} // namespace cairn
