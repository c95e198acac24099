// SPDX-License-Identifier: MIT
//
// Purging runs: free runs whose memory goes back to the operating system.
//
// Adds:    purging on request and by the clock; how much may lie free when new memory is taken.
// Needs:   FreeRuns and the lock over them.
// Keeps:   maps are never split: memory goes back by madvise. Memory that was needed within the last tick of
//          the clock stays (low-water mark).
// Threads: functions ending in _locked are for who holds the lock, which is not held while the kernel purges.
// Cost:    one system call a run; where the kernel does not take a run, for pages in it that the program has locked and left so, one
//          for each halving until it is known which slot that is.
// Source:  Hoard, section 3.1 (the emptiness invariant); LKmalloc, section 6, G (pages are decommitted).
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/free_runs.hpp>
#include <cairn/sync/lock.hpp>

#include <algorithm>

namespace cairn {

/// What may lie free and resident while memory is taken, K at this border, and 1/f: Hoard's invariant once more, at the lowest
/// border.
struct RunsKept {
    std::size_t slack;
    std::size_t fraction;
    constexpr std::size_t bytes(std::size_t resident) const { return std::max(resident / fraction, slack); }

    /// `taken` bytes of new memory have their price: as much of what lies free beyond the invariant.
    constexpr std::size_t price(std::size_t taken, std::size_t dirty, std::size_t resident) const {
        return dirty > bytes(resident) ? std::min(dirty - bytes(resident), taken) : 0;
    }
};

class alignas(platform::cache_line) PurgingRuns {
public:
    /// A long block comes and goes by one call each, and its next size may fit what lies free.
    static constexpr RunsKept beside_blocks{8_MiB, 4};
    /// The same for cached mappings, runs among it: a mapping that is gone costs all of its faults.
    static constexpr RunsKept beside_mappings{32_MiB, 4};
    /// A superblock serves many calls: a longer one that no free run has room for may have new memory. One of a single slot fits into any.
    static constexpr RunsKept beside_superblocks{4_MiB, 16};

    constexpr PurgingRuns() = default;
    PurgingRuns(const PurgingRuns &) = delete;
    PurgingRuns &operator=(const PurgingRuns &) = delete;

    sync::Lock &lock() { return lock_; }
    FreeRuns &runs() { return free_; }
    std::size_t dirty_bytes() const { return free_.dirty_bytes(); }
    std::size_t clean_bytes() const { return free_.clean_bytes(); }
    std::size_t bytes(SlotKind kind) const {
        return kind == SlotKind::free_clean ? clean_bytes() : dirty_bytes();
    }

    /// Gives back dirty memory, the longest runs first, until at most `keep` bytes are left. Bytes given back.
    std::size_t purge_locked(std::size_t keep) {
        const std::size_t before = purged_;
        std::size_t most = slots_per_segment; // at a time
        LeftAside left;
        while (free_.dirty_bytes() > keep && !left.is_enough(purged_ != before)) {
            const std::size_t slots = ceil_div(free_.dirty_bytes() - keep, slot_size);
            OwnerLine *const run = free_.take_longest_dirty(std::min(slots, most));
            if (run == nullptr) {
                break;
            }
            const bool gone = purge_one_locked(run);
            most = gone ? std::min<std::size_t>(2 * most, slots_per_segment) : run->slots / 2;
            if (most == 0) {
                left.runs[left.count++] = run;
                ++in_flight_; // out of memory, others wait for it
                most = 1;
            } else {
                free_.put(run, gone);
            }
        }
        const bool gave_up = left.is_enough(purged_ != before);
        std::size_t refused = left.count * slot_size;
        for (; left.count != 0; --in_flight_) {
            free_.put(left.runs[--left.count], false);
        }
        refused = gave_up && free_.dirty_bytes() > keep + refused ? free_.dirty_bytes() - keep : refused;
        refused_.store(refused, std::memory_order_relaxed);
        return purged_ - before;
    }

    /// What the kernel would not take when it was last asked, until that is to be forgotten. Any thread.
    std::size_t refused_bytes() const { return refused_.load(std::memory_order_relaxed); }
    void forget_refused() { refused_.store(0, std::memory_order_relaxed); }

    /// Whether runs are on their way to the kernel, or with one for whom it makes a huge page.
    bool in_flight_locked() const { return in_flight_ != 0; }
    void leaves_locked() { ++in_flight_; }
    void is_back_locked() { --in_flight_; }

    /// The lists are empty then, to be filled by what the slots say.
    void repair_after_fork() {
        lock_.reset_after_fork();
        in_flight_ = 0;
        free_.clear();
    }

    /// One tick of the purge clock: gives back what lay unused through the whole of the last period, but for
    /// `keep` bytes. How many of those were kept.
    std::size_t purge_idle_locked(std::size_t keep) {
        const std::size_t now = free_.dirty_bytes();
        const std::size_t unused = free_.exchange_low_water();
        if (unused > keep) {
            purge_locked(now - (unused - keep));
        }
        return std::min(unused, keep);
    }

    template <class S>
    void statistics_locked(S &out) const {
        out.free_dirty += free_.dirty_bytes();
        out.free_clean += free_.clean_bytes();
        out.purged += purged_;
        out.purges += purges_;
    }

private:
    /// Slots that the kernel does not take, out of the way of the others meanwhile.
    struct LeftAside {
        OwnerLine *runs[16];
        unsigned count = 0;
        /// In a process that has locked all of its memory two are.
        bool is_enough(bool some_went) const { return count == (some_went ? std::size(runs) : 2); }
    };

    /// Whether the kernel took it. The caller puts the run back.
    bool purge_one_locked(OwnerLine *run) {
        ++in_flight_;
        lock_.unlock(); // the kernel takes its time; the run is nobody's meanwhile
        const std::size_t bytes = span_of(run);
        const bool gone = platform::vm::purge(reinterpret_cast<void *>(memory_of(run)), bytes);
        lock_.lock();
        --in_flight_;
        purged_ += gone ? bytes : 0;
        ++purges_;
        return gone;
    }

    sync::Lock lock_{sync::Rank::stripe};
    FreeRuns free_;
    unsigned in_flight_ = 0; ///< runs that come back soon
    std::size_t purged_ = 0;
    std::size_t purges_ = 0;
    std::atomic<std::size_t> refused_{0}; ///< relaxed: a hint by itself
};

} // namespace cairn
