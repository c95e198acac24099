// SPDX-License-Identifier: MIT
//
// Presence: one thread owns an object and uses it without locks; others may visit it while the owner is not inside.
//
// Adds:    the owner's mark, which says by plain stores what it is using; for visitors a lock, and the answer where the
//          owner is.
// Needs:   a heavy fence (platform/fence.hpp); where there is none, nobody gets in but the owner, unless that one has no
//          short sections, and passes a fence before each long one (fence_from_now_on).
// Keeps:   while a visitor is in, the owner is not between enter() and leave(). It may be in its short sections, begin()
//          to the next mark, on whatever the visitor has not taken from it.
// Threads: enter, leave, begin, end: the owner; try_visit, end_visit, owner_uses: any.
// Errors:  try_visit() answers false at once when the owner is inside, even if it is asleep there: nobody waits for it.
// Cost:    the owner: a store a section, two with end(), no fence. A visitor: a lock and two heavy fences. Fenced: the owner a fence for
//          each section, the visitor one.
// Source:  biased locking with the cost on the stranger's side: Dice, Huang, Yang, "Asymmetric Dekker
//          synchronization", 2001. What is a critical section there is told apart by the mark here.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/fence.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn::sync {

class Presence {
public:
    constexpr Presence() = default;

    // ---- the owner

    /// What a section can be on: anything that has an address, or a number, for one of several things that all have one.
    using Thing = std::uintptr_t;
    static constexpr Thing nothing = ~Thing{0};

    /// A short section. Whatever it relies on has to be read after this. It need not be ended: until the next one begins visitors take
    /// the owner for still in it, and leave alone what it is on.
    CAIRN_INLINE void begin(const void *at) { begin(address_of(at)); }
    CAIRN_INLINE void begin(Thing at) {
        // With the light fence: Dekker pair with a visitor, which takes things away, then makes us pass a fence, then
        // looks for the mark: it finds the mark, or we find the thing taken. release: as in end().
        mark_.store(at, std::memory_order_release);
        platform::light_fence();
    }
    /// release: pairs with owner_uses() and try_visit(): what the section did is seen.
    CAIRN_INLINE void end() { mark_.store(nothing, std::memory_order_release); }

    /// A long section, on everything: waits for a visitor to leave.
    CAIRN_INLINE void enter() {
        mark_inside();
        if (CAIRN_UNLIKELY(lock_.held())) { // acquire: pairs with end_visit(), what a visitor did is seen
            enter_after_visit();
        }
    }
    void leave() { end(); }

    /// In a section, of either kind: no visitor is in, nor gets in before the end without seeing the mark (owner_is_at). acquire: pairs
    /// with end_visit(): what a visitor did is seen.
    CAIRN_INLINE bool unvisited() const { return CAIRN_LIKELY(!lock_.held()); }

    /// In a long section: from now on the owner begins short sections on nothing that visitors could take, and they need
    /// no heavy fence. For good. release: pairs with owner_passes_fence(): who reads it does not miss that we are inside.
    void fence_from_now_on() { fenced_.store(true, std::memory_order_release); }
    /// relaxed: the owner's; a visitor has a fence behind it, or the mark before it.
    bool fenced() const { return fenced_.load(std::memory_order_relaxed); }
    /// Nobody gets in before its owner has come by: the heavy fence was taken away.
    bool is_closed() const { return platform::heavy_fence_missing() && !fenced(); }

    // ---- others

    /// False when the owner or another visitor is inside. Otherwise the owner stays out of long sections.
    bool try_visit() {
        if (owner_is_inside() || !lock_.try_lock()) {
            return false;
        }
        // acquire: pairs with end(): what the owner did in its last long section is seen.
        if (owner_passes_fence() && mark_.load(std::memory_order_acquire) != inside()) {
            return true;
        }
        lock_.unlock();
        return false;
    }
    void end_visit() { lock_.unlock(); }

    /// In a visit: whether the owner may be in a section on `at` that began before it. Later ones know of the visit (unvisited). acquire:
    /// pairs with end().
    bool owner_is_at(const void *at) const { return mark_.load(std::memory_order_acquire) == address_of(at); }

    /// For a visitor that has taken things away: `at` is what the owner may still be using. From now on it begins no section on
    /// what was taken. False: nobody knows, all has to be put back.
    bool owner_uses(Thing &at) const {
        if (fenced()) { // since before we came, for who is in: its marks stand for nothing
            at = nothing;
            return true;
        }
        const bool known = platform::heavy_fence();
        at = mark_.load(std::memory_order_acquire); // acquire: pairs with end()
        return known;
    }

    /// A hint. relaxed: what it says may be over.
    bool owner_is_inside() const { return mark_.load(std::memory_order_relaxed) == inside(); }

    /// For an object that nobody owns at present, which the caller has made sure of: keeps visitors out.
    Lock &lock() { return lock_; }

    /// In the child of a fork; true if a visitor was in, who is not there any more.
    bool reset_after_fork() {
        mark_.store(nothing, std::memory_order_relaxed); // relaxed: alone
        const bool visited = lock_.held();
        lock_.reset_after_fork();
        return visited;
    }

private:
    CAIRN_NOINLINE void enter_after_visit() {
        do {
            end();
            {
                const Guard wait(lock_);
            }
            mark_inside();
        } while (lock_.held()); // acquire: as in enter()
    }

    Thing inside() const { return address_of(this); }

    void mark_inside() {
        begin(inside());
        if (CAIRN_UNLIKELY(fenced())) {
            std::atomic_thread_fence(std::memory_order_seq_cst); // Dekker pair with owner_passes_fence()
        }
    }

    /// The owner sees our lock before it next goes inside, or we see its mark.
    bool owner_passes_fence() const {
        if (CAIRN_UNLIKELY(fenced())) {
            // Dekker pair with mark_inside(). An acquire too, pairs with fence_from_now_on(): the mark that we load is not
            // older than that section's, and before later ones there is a fence.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            return true;
        }
        return platform::heavy_fence();
    }

    std::atomic<Thing> mark_{nothing};
    Lock lock_{Rank::visit};
    std::atomic<bool> fenced_{false};
};

/// The owner is inside for the length of a scope.
class [[nodiscard]] Inside {
public:
    explicit Inside(Presence &presence) : presence_(presence) { presence_.enter(); }
    ~Inside() { presence_.leave(); }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;

private:
    Presence &presence_;
};

} // namespace cairn::sync
