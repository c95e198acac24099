// SPDX-License-Identifier: MIT
//
// Huge steps: decides when fresh memory is backed by a huge page of 2 MiB, one page fault instead of 512 (a step).
//
// Adds:    whether a step is due, the step itself, and what follows from its result.
// Needs:   a range of the length and alignment of a huge page that no other thread uses meanwhile, and that reads as
//          zero.
// Keeps:   only a process with 48 MiB of resident memory takes steps, and only while at most a sixteenth of that would
//          be dirty after the step, and at most a sixteenth is untouched memory of superblocks, which a huge page would
//          make resident from the start. If the kernel has none to give, or takes long, the next step comes after twice
//          as much growth as the last time.
// Threads: the caller holds a lock, but not for fault(), nor for is_trial() between begin() and end().
// Cost:    fault(): three or four system calls and the clearing of 2 MiB, some 0.2 ms where 512 page faults take 1.5.
// Source:  docs/decisions/huge-page-growth.md
#pragma once

#include <cairn/platform/futex.hpp>
#include <cairn/platform/huge_pages.hpp>
#include <cairn/run/segment.hpp>

#include <algorithm>
#include <utility>

namespace cairn {

class HugeSteps {
public:
    static constexpr std::size_t bytes = platform::vm::huge_page;
    static constexpr unsigned slots = bytes / slot_size;
    /// Resident memory from which on steps are taken: a step is at most a 24th of it.
    static constexpr std::size_t least = 24 * bytes;
    /// Dirty memory with the step, and untouched memory, are each at most this fraction of the resident memory.
    static constexpr std::size_t fraction = 16;
    /// No step for longer runs: the program may touch only a part of such a run.
    static constexpr unsigned longest_run = slots / 2;

    constexpr HugeSteps() = default;

    /// Bytes of a run heap. `resident`: an upper bound, all of large and huge blocks. `dirty`: the free part of that.
    /// `untouched`: memory of superblocks that was not touched. `growth`: the sum of all growth.
    struct Memory {
        std::size_t resident, dirty, untouched, growth;
    };

    /// Whether a step is due for a run of `needed` slots. If so, the caller has to call end(), tries(), end_sparse() or
    /// leave_out().
    bool begin(unsigned needed, const Memory &has) {
        const std::size_t part = has.resident / fraction;
        if (in_progress_ || needed > longest_run || has.resident < least || has.dirty + bytes > part ||
            has.untouched > part || has.growth < not_before_) {
            return false;
        }
        in_progress_ = true;
        return true;
    }

    enum class Got : unsigned char { nothing, slowly, soon };

    /// A large block takes fresh memory.
    void note_large() { large_ = true; }

    /// Whether the step is a trial: to be ended by tries(), not by fault() and end().
    bool is_trial() const { return large_ && steps_left_ == 0; }

    /// After a trial with a range: its memory gets some time to be used.
    void tries(OwnerLine *range, std::size_t growth) {
        in_progress_ = false;
        trial_ = range;
        large_ = false;
        steps_left_ = steps_a_trial;
        not_before_ = growth + shortest_pause;
    }

    /// The range of the last trial, once; nullptr where its result is known.
    OwnerLine *take_trial() { return std::exchange(trial_, nullptr); }

    /// The trial has failed. Another one follows.
    void end_sparse(std::size_t growth) {
        large_ = true;
        steps_left_ = 0;
        end(Got::nothing, growth);
    }

    /// Takes the step: touches the range. `nothing`: no huge page came, and the range reads as zero and is not
    /// resident.
    static Got fault(void *range) {
        const std::uint64_t before = platform::monotonic_microseconds();
        if (!platform::vm::fault_huge_page(range, bytes)) {
            return Got::nothing;
        }
        return platform::monotonic_microseconds() - before > slow_ ? Got::slowly : Got::soon;
    }

    /// After the step: its result, and the growth so far.
    void end(Got got, std::size_t growth) {
        in_progress_ = false;
        steps_left_ -= steps_left_ != 0;
        pause_ = got == Got::soon ? 0 : std::clamp(2 * pause_, shortest_pause, longest_pause);
        not_before_ = growth + pause_;
    }

    /// The step is left out, because there was no range for it.
    void leave_out() { in_progress_ = false; }

    /// In the child of a fork, where the thread that was taking a step may not exist.
    void forget() { in_progress_ = false; }

    static constexpr unsigned steps_a_trial = 16;

    /// How much the heap grows before the next step after the kernel had no huge page, or was slow: after the first
    /// such step, and at most.
    static constexpr std::size_t shortest_pause = 4_MiB;
    static constexpr std::size_t longest_pause = 128_MiB;

private:
    /// A step that takes more microseconds was slow: so long take 512 page faults of 2 us each.
    static constexpr std::uint64_t slow_ = 1000;

    bool in_progress_ = false;
    bool large_ = false;         ///< large blocks have taken fresh memory since the last trial
    unsigned steps_left_ = 0;    ///< until the next trial
    OwnerLine *trial_ = nullptr; ///< the range of the last trial, until its result is known
    std::size_t pause_ = 0;      ///< bytes of growth without steps, after the last one
    std::size_t not_before_ = 0;
};

} // namespace cairn
