// SPDX-License-Identifier: MIT
//
// Huge mappings: one mapping a block, made, grown, moved and unmapped.
//
// Adds:    those four, with the account of address space.
// Needs:   the run heap's lock and address space.
// Keeps:   64 KiB behind each are nobody's, so that who writes on behind it reaches no segment's descriptors.
// Threads: any.
// Errors:  nullptr or false: nothing has changed.
// Cost:    system calls, under the run heap's lock where addresses are chosen.
#pragma once

#include <cairn/platform/random.hpp>
#include <cairn/run/huge_table.hpp>
#include <cairn/run/run_heap.hpp>

namespace cairn {

class HugeMappings {
public:
    explicit constexpr HugeMappings(RunHeap &runs) : runs_(runs) {}

    /// Zeroed memory.
    char *map(std::size_t bytes, std::size_t alignment) {
        char *const p = map_anew(bytes, alignment);
        if (p != nullptr) {
            pay();
        }
        return p;
    }

    /// What so many bytes more cost, if `cached` bytes lie free beside the runs.
    std::size_t price(std::size_t bytes, std::size_t cached) {
        return runs_.price(bytes, PurgingRuns::beside_mappings, cached);
    }

    /// By how much the water line has ever risen with mappings.
    std::size_t risen() const { return risen_.load(std::memory_order_relaxed); }

    /// Whether the water line falls with what is unmapped; not where that is the price of other memory.
    enum class Line : bool { falls, stays };

    void unmap(void *p, std::size_t bytes, Line line = Line::falls) {
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        platform::vm::unmap(p, bytes); // without the lock: the kernel takes its time
        {
            sync::Guard hold(runs_.lock());
            runs_.space().shrank(bytes);
            if (line == Line::falls) {
                runs_.unmapped_locked(bytes);
            }
        }
        in_flight_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Out of memory: waits a while for what other threads are unmapping. False if that was nothing.
    bool wait_for_others() const {
        int i = 0;
        for (; i < platform::longest_wait && in_flight_.load(std::memory_order_relaxed) != 0; ++i) {
            platform::wait_a_little(i);
        }
        return i != 0;
    }

    void repair_after_fork() { in_flight_.store(0, std::memory_order_relaxed); }

    /// The same pages in a mapping of another length that starts a window, in place or moved. nullptr: nothing has changed.
    char *resize(char *p, std::size_t before, std::size_t bytes) {
        const bool starts_window = is_aligned(p, window_size);
        if (starts_window && (bytes == before || resize_in_place(p, before, bytes))) {
            return p;
        }
        return bytes > before || !starts_window ? move(p, before, bytes) : nullptr;
    }

private:
    bool resize_in_place(void *p, std::size_t before, std::size_t bytes) {
        if ((bytes > before && bytes != huge_length(bytes)) ||
            !platform::vm::resize_in_place(p, before, bytes)) {
            return false;
        }
        account(before, bytes);
        if (bytes < before) {
            sync::Guard hold(runs_.lock());
            runs_.unmapped_locked(before - bytes);
        } else {
            pay();
        }
        return true;
    }

    /// A longer mapping with the pages of the old one, which is gone.
    char *move(void *p, std::size_t before, std::size_t bytes) {
        char *const to = map_anew(bytes, 1); // the place
        if (to == nullptr) {
            return nullptr;
        }
        std::uint64_t *const mark = reinterpret_cast<std::uint64_t *>(to + bytes) - 1;
        const std::uint64_t secret = platform::secret() ^ address_of(mark);
        // The page of the mark is all that is touched of the place; not the huge page that it might be part of.
        platform::vm::forbid(to, bytes - platform::vm::page_size());
        *mark = secret;
        if (!platform::vm::move(p, before, to, bytes)) {
            // Unmapped by the kernel, the place may be another's by now. It is ours if the mark is there.
            if (platform::vm::holds(mark, secret)) {
                unmap(to, bytes, Line::stays); // it has not risen
            } else {
                account(bytes, 0);
            }
            return nullptr;
        }
        account(before, 0);
        pay();
        return to;
    }

    char *map_anew(std::size_t bytes, std::size_t alignment) {
        sync::Guard hold(runs_.lock());
        return static_cast<char *>(runs_.space().take_aligned(bytes, alignment, /*dense=*/true, huge_guard));
    }

    void pay() { risen_.fetch_add(runs_.pay(PurgingRuns::beside_blocks), std::memory_order_relaxed); }

    void account(std::size_t before, std::size_t after) {
        sync::Guard hold(runs_.lock());
        runs_.space().shrank(before);
        runs_.space().grew(after);
    }

    RunHeap &runs_;
    std::atomic<unsigned> in_flight_{0}; ///< on their way to the kernel; relaxed: a hint
    std::atomic<std::size_t> risen_{0};  ///< relaxed: a counter
};

} // namespace cairn
