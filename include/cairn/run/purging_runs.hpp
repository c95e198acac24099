// SPDX-License-Identifier: MIT
//
// Purging runs: the free runs of a stripe, their lock, and how their memory goes back to the operating system.
//
// Adds:    purging on request and by the purge clock; how much memory may be free while new memory is taken.
// Needs:   FreeRuns.
// Keeps:   mappings are never split: memory goes back by madvise. Memory that was in use within the last tick of the
//          clock stays (low-water mark).
// Threads: functions whose names end in _locked: the caller holds the lock, which is released while the kernel purges.
// Cost:    one system call a run; if the kernel refuses a run, because the program has locked pages in it, one for each
//          halving until the slot with the locked pages is found. Then what is around it goes, in longer and longer
//          runs.
// Source:  Hoard, section 3.1 (the emptiness invariant); LKmalloc, section 6, G (pages are decommitted).
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/free_runs.hpp>
#include <cairn/sync/lock.hpp>

#include <algorithm>

namespace cairn {

/// How much free memory may be resident while new memory is taken: the slack, or 1/fraction of the resident memory,
/// whichever is more. This is Hoard's emptiness invariant, between the run heap and the operating system.
struct RunsKept {
    std::size_t slack;
    std::size_t fraction;
    constexpr std::size_t bytes(std::size_t resident) const { return std::max(resident / fraction, slack); }

    /// How many bytes have to be purged for `taken` bytes of new memory: as many, as far as the dirty memory exceeds
    /// the limit.
    constexpr std::size_t price(std::size_t taken, std::size_t dirty, std::size_t resident) const {
        return dirty > bytes(resident) ? std::min(dirty - bytes(resident), taken) : 0;
    }
};

class alignas(platform::cache_line) PurgingRuns {
public:
    /// When a large block grows the heap: each block comes and goes by one call, and the next size may fit a free run.
    static constexpr RunsKept beside_blocks{8_MiB, 4};
    /// For the sum of cached mappings and free runs: a mapping that was given back costs all of its page faults again.
    static constexpr RunsKept beside_mappings{32_MiB, 4};
    /// When a superblock grows the heap: it serves many calls. Only a superblock of several slots may find no free run
    /// that fits; one of a single slot fits into every free run.
    static constexpr RunsKept beside_superblocks{4_MiB, 16};

    constexpr PurgingRuns() = default;
    PurgingRuns(const PurgingRuns &) = delete;
    PurgingRuns &operator=(const PurgingRuns &) = delete;

    /// In zeroed memory, of which it touches the lock alone: a constructor would touch all. nullptr: of nullptr.
    static PurgingRuns *in_zeroed(void *memory) {
        auto *const made = static_cast<PurgingRuns *>(memory);
        return made != nullptr ? (new (&made->lock_) sync::Lock(sync::Rank::stripe), made) : nullptr;
    }

    sync::Lock &lock() { return lock_; }
    FreeRuns &runs() { return free_; }
    std::size_t dirty_bytes() const { return free_.dirty_bytes(); }
    std::size_t clean_bytes() const { return free_.clean_bytes(); }
    std::size_t bytes(SlotKind kind) const {
        return kind == SlotKind::free_clean ? clean_bytes() : dirty_bytes();
    }

    /// Gives back dirty memory, the longest runs first, until at most `keep` bytes are left. Returns the bytes given
    /// back.
    std::size_t purge_locked(std::size_t keep) {
        const std::size_t before = purged_;
        std::size_t most = slots_per_segment; // in one call
        LeftAside left;
        while (free_.dirty_bytes() > keep && !left.is_enough()) {
            const std::size_t slots = ceil_div(free_.dirty_bytes() - keep, slot_size);
            OwnerLine *const run = free_.take_longest_dirty(std::min(slots, most), left.last());
            if (run == nullptr) {
                break;
            }
            if (purge_one_locked(run)) {
                free_.put(run, true);
                most = std::min<std::size_t>(2 * most, slots_per_segment);
                left.in_a_row = 0;
            } else if (run->slots > left.next_length()) {
                most = run->slots / 2;
                free_.put(run, false);
            } else {
                left.add(run);
                ++in_flight_; // a thread that is out of memory waits for this run
                most = left.next_length();
            }
        }
        const bool gave_up = left.is_enough();
        std::size_t refused = left.slots * slot_size;
        while (OwnerLine *const run = left.runs.front()) {
            left.runs.remove(run);
            free_.put(run, false);
            --in_flight_;
        }
        refused = gave_up && free_.dirty_bytes() > keep + refused ? free_.dirty_bytes() - keep : refused;
        refused_.store(refused, std::memory_order_relaxed);
        return purged_ - before;
    }

    /// How much the kernel refused at the last purge, until forget_refused(). Any thread.
    std::size_t refused_bytes() const { return refused_.load(std::memory_order_relaxed); }
    void forget_refused() { refused_.store(0, std::memory_order_relaxed); }

    /// Whether a thread has taken a run for a short time: to purge it, or to back it with a huge page.
    bool in_flight_locked() const { return in_flight_ != 0; }
    void leaves_locked() { ++in_flight_; }
    void is_back_locked() { --in_flight_; }

    /// In the child of a fork: empties the lists, which are then rebuilt from the slot kinds.
    void repair_after_fork() {
        lock_.reset_after_fork();
        in_flight_ = 0;
        free_.clear();
    }

    /// One tick of the purge clock: gives back the memory that was free during the whole last period, except for `keep`
    /// bytes. Returns how many of those bytes there were.
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
    /// Runs that the kernel refuses, out of the lists while other runs are purged. Of several in a row every second one
    /// is longer and longer, so that a long locked range takes few calls; the others are a slot each, so that one
    /// between two with locked pages is found.
    struct LeftAside {
        LineList runs;
        std::size_t slots = 0;
        unsigned in_a_row = 0;

        unsigned next_length() const { return in_a_row % 2 == 0 ? 1 : 1u << (in_a_row + 1) / 2; }
        /// The last one, until a run was purged: memory next to it is tried before other memory.
        OwnerLine *last() const { return in_a_row != 0 ? runs.front() : nullptr; }
        void add(OwnerLine *run) {
            runs.push_front(run);
            slots += run->slots;
            ++in_a_row;
        }
        /// Whether to stop. So many in a row are longer than any run: the process has locked all its memory.
        bool is_enough() const { return in_a_row == 32; }
    };

    /// Purges one run, without the lock. Whether the kernel took it. The caller puts the run back.
    bool purge_one_locked(OwnerLine *run) {
        ++in_flight_;
        lock_.unlock(); // the call may take long; the run is in no list meanwhile
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
    unsigned in_flight_ = 0; ///< runs that threads have taken for a short time
    std::size_t purged_ = 0;
    std::size_t purges_ = 0;
    std::atomic<std::size_t> refused_{0}; ///< relaxed: a hint that orders no other memory
};

} // namespace cairn
