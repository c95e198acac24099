// SPDX-License-Identifier: MIT
//
// Presence: a hazard pointer with asymmetric fences. One thread, the owner, uses an object without locks; another
// thread may visit the object while the owner is not inside.
//
// Adds:    for the owner, a hazard word in which it publishes by plain stores what it is using; for visiting threads, a
//          lock, and the question what the owner is using.
// Needs:   a heavy fence (platform/fence.hpp). Without one no thread but the owner gets in, unless the owner has called
//          fence_from_now_on(): it then uses no short sections, and passes a fence before each long one.
// Keeps:   during a visit the owner is not in a long section, enter() to leave(). The owner may be in a short section,
//          begin() to the next store of the hazard word, on anything that the visiting thread has not taken from it.
// Threads: enter, leave, begin, end: the owner; try_visit, end_visit, owner_uses: any.
// Errors:  try_visit() returns false at once when the owner is inside, also when the owner is asleep there: no visiting
//          thread waits for an owner.
// Cost:    the owner: one store a section, two with end(), no fence. A visiting thread: a lock and two heavy fences.
//          With fence_from_now_on(): one fence for each section of the owner, one for the visiting thread.
// Source:  hazard pointers: Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004; here with
//          one hazard word an owner, checked before an object is taken away and not before it is freed. Asymmetric
//          fences: Dice, Huang, Yang, "Asymmetric Dekker synchronization", 2001 (biased locking with the cost on the
//          visiting side); C++ proposal P1202.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/fence.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn::sync {

class CAIRN_BY_CHECKS Presence {
public:
    constexpr Presence() = default;

    // ---- the owner

    /// The value of the hazard word: the address of the object that the section uses, or a small number for one of
    /// several objects at one address (a size class).
    using Thing = std::uintptr_t;
    static constexpr Thing nothing = ~Thing{0};

    /// Begins a short section on `at`. The section reads everything that it relies on after this call. It need not be
    /// ended: until the owner stores the hazard word again, visiting threads assume that the owner is still in the
    /// section and do not touch `at`.
    CAIRN_INLINE void begin(const void *at) { begin(address_of(at)); }
    CAIRN_INLINE void begin(Thing at) {
        // With the light fence: Dekker pair with a visiting thread, which takes objects away, passes a heavy fence,
        // then loads the hazard word (owner_uses): it finds the hazard word, or the owner finds the object taken.
        // release: pairs with owner_uses(), owner_is_at() and try_visit(): what the previous section wrote is seen.
        hazard_.store(at, std::memory_order_release);
        platform::light_fence();
    }
    /// Ends a section. release: pairs with owner_uses(), owner_is_at() and try_visit(): what the section wrote is seen.
    CAIRN_INLINE void end() { hazard_.store(nothing, std::memory_order_release); }

    /// Begins a long section, on everything: waits until no thread visits.
    CAIRN_INLINE void enter() {
        mark_inside();
        if (CAIRN_UNLIKELY(lock_.held())) { // acquire: pairs with end_visit()
            enter_after_visit();
        }
    }
    void leave() { end(); }

    /// In a section of either kind: no thread visits, and none that begins a visit before the section ends misses the
    /// hazard word (owner_is_at). acquire: pairs with end_visit(): what the last visiting thread wrote is seen.
    CAIRN_INLINE bool unvisited() const { return CAIRN_LIKELY(!lock_.held()); }

    /// In a long section: from now on, for good, the owner begins no short section on anything that a visiting thread
    /// could take, and visiting threads need no heavy fence. release: pairs with the fence in owner_passes_fence(): a
    /// visiting thread that reads `true` also sees that the owner is inside.
    void fence_from_now_on() { fenced_.store(true, std::memory_order_release); }
    /// relaxed: the owner reads its own store; a visiting thread passes a fence after the load, or has loaded the
    /// hazard word before it.
    bool fenced() const { return fenced_.load(std::memory_order_relaxed); }
    /// The system has taken the heavy fence away, and the owner has not called fence_from_now_on(): no thread gets in.
    bool is_closed() const { return platform::heavy_fence_missing() && !fenced(); }

    // ---- visiting threads

    /// Begins a visit. False when the owner is in a long section or another thread visits. After true, the owner waits
    /// at its next long section until end_visit().
    bool try_visit() {
        if (owner_is_inside() || !lock_.try_lock()) {
            return false;
        }
        // acquire: pairs with end(): what the owner wrote in its last long section is seen.
        if (owner_passes_fence() && hazard_.load(std::memory_order_acquire) != inside()) {
            return true;
        }
        lock_.unlock();
        return false;
    }
    void end_visit() { lock_.unlock(); }

    /// In a visit: whether the owner may be in a section on `at` that began before the visit. Sections that begin later
    /// see the visit (unvisited). acquire: pairs with begin() and end(): what the last section wrote is seen.
    bool owner_is_at(const void *at) const {
        return hazard_.load(std::memory_order_acquire) == address_of(at);
    }

    /// In a visit, after objects were taken from the owner: sets `at` to what the owner may still be using. The owner
    /// begins no further section on what was taken. False: the fence failed, `at` is unknown, and the caller puts
    /// everything back.
    bool owner_uses(Thing &at) const {
        if (fenced()) { // since before this visit: the owner has no short sections, its hazard word says nothing
            at = nothing;
            return true;
        }
        const bool known = platform::heavy_fence();
        at = hazard_.load(std::memory_order_acquire); // acquire: pairs with begin() and end()
        return known;
    }

    /// A hint. relaxed: the owner may have left, or gone on, by the time the caller acts.
    bool owner_is_inside() const { return hazard_.load(std::memory_order_relaxed) == inside(); }

    /// Keeps visiting threads out of an object that has no owner at present; the caller has made sure that it has none.
    Lock &lock() { return lock_; }

    /// In the child of a fork. True if a thread of the parent was visiting, which the child does not have.
    bool reset_after_fork() {
        hazard_.store(nothing, std::memory_order_relaxed); // relaxed: the child has one thread
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
        } while (lock_.held()); // acquire: pairs with end_visit(): what the visiting thread wrote is seen
    }

    Thing inside() const { return address_of(this); }

    void mark_inside() {
        begin(inside());
        if (CAIRN_UNLIKELY(fenced())) {
            std::atomic_thread_fence(std::memory_order_seq_cst); // Dekker pair with owner_passes_fence()
        }
    }

    /// Between the visiting thread's lock and its load of the hazard word: the owner sees the lock before it next goes
    /// inside, or the visiting thread sees the owner's hazard word. False: nothing was ordered.
    bool owner_passes_fence() const {
        if (CAIRN_UNLIKELY(fenced())) {
            // Dekker pair with mark_inside(). Also an acquire fence that pairs with fence_from_now_on(): the hazard
            // word loaded after it is that of the section that set the flag, or of a later one, and each later one has
            // a fence.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            return true;
        }
        return platform::heavy_fence();
    }

    std::atomic<Thing> hazard_{nothing};
    Lock lock_{Rank::visit};
    std::atomic<bool> fenced_{false};
};

/// The owner is in a long section for a scope.
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
