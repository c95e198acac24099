// SPDX-License-Identifier: MIT
//
// Huge steps: when memory that nothing has used yet is to come by 2 MiB at once, behind a huge page, as one page fault and not 512.
//
// Adds:    whether the next step is due, the step itself, and what follows from how it went.
// Needs:   a range of such a length and alignment that is nobody's meanwhile, and reads as zero.
// Keeps:   only a process that has 48 MiB takes them, and only where a sixteenth of that at most lies free with them and as little is
//          in superblocks that have not touched it: each would have touched all of it from the start. A kernel that gives huge pages
//          unasked is left alone; one that has none to give, or takes long to make one, is asked again after twice as much growth as
//          the last time.
// Threads: the caller holds a lock, but not for fault(), nor for asks() between begin() and end().
// Cost:    fault(): three or four system calls and the clearing of 2 MiB, some 0.2 ms where 512 page faults take 1.5.
// Source:  docs/decisions/huge-page-growth.md
#pragma once

#include <cairn/platform/futex.hpp>
#include <cairn/platform/in_memory.hpp>
#include <cairn/run/segment.hpp>

#include <algorithm>

namespace cairn {

class HugeSteps {
public:
    static constexpr std::size_t bytes = 2_MiB;
    static constexpr unsigned slots = bytes / slot_size;
    /// No step is more than a 24th of what there is.
    static constexpr std::size_t least = 24 * bytes;
    /// What may lie free with it, or be untouched, is no more than a sixteenth.
    static constexpr std::size_t fraction = 16;
    /// A longer run is used by half, perhaps, and the other half is its program's to touch.
    static constexpr unsigned longest_run = slots / 2;

    constexpr HugeSteps() = default;

    /// What a heap of runs has: bytes that are resident, as far as is known: of long blocks all, and of huge ones; of these, such as lie
    /// free; what its superblocks have not touched; by how much it has ever grown.
    struct Memory {
        std::size_t resident, dirty, untouched, growth;
    };

    /// Whether who needs so many slots is to take a step, and to call end() or leave_out() then.
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

    /// The first one asks for nothing, and shows whether this kernel gives huge pages to who does not ask: then it is left alone.
    bool asks() const { return asks_; }

    /// nothing: the range reads as zero as before.
    static Got fault(void *range, bool asks) {
        const std::uint64_t before = platform::monotonic_microseconds();
        if (!platform::vm::fault_huge_page(range, bytes, asks)) {
            return Got::nothing;
        }
        return platform::monotonic_microseconds() - before > slow_ ? Got::slowly : Got::soon;
    }

    /// The step went so.
    void end(Got got, std::size_t growth) {
        in_progress_ = false;
        if (!asks_) {
            asks_ = got == Got::nothing;
            not_before_ = asks_ ? 0 : SIZE_MAX;
            return;
        }
        pause_ = got == Got::soon ? 0 : std::clamp(2 * pause_, shortest_pause, longest_pause);
        not_before_ = growth + pause_;
    }

    /// There was no range for it.
    void leave_out() { in_progress_ = false; }

    /// In the child of a fork: who was about to take one is not there.
    void forget() { in_progress_ = false; }

    /// So much growth goes by before a kernel is asked again that had nothing to give, or gave it slowly: the first time, and after
    /// many.
    static constexpr std::size_t shortest_pause = 4_MiB;
    static constexpr std::size_t longest_pause = 128_MiB;

private:
    /// Microseconds: as long as 512 page faults take that cost 2 each.
    static constexpr std::uint64_t slow_ = 1000;

    bool in_progress_ = false;
    bool asks_ = false;
    std::size_t pause_ = 0; ///< growth without steps
    std::size_t not_before_ = 0;
};

} // namespace cairn
