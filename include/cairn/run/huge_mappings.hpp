// SPDX-License-Identifier: MIT
//
// Huge mappings: the mappings of huge blocks are made, resized, moved and unmapped here.
//
// Adds:    these operations, and the account of address space.
// Needs:   the lock and the address space of the run heap.
// Keeps:   no segment starts within the 64 KiB behind a mapping, so an overflow of a huge block does not reach the
//          descriptors of a segment.
// Threads: any.
// Errors:  nullptr or false: nothing has changed.
// Cost:    system calls; with the run heap's lock held where an address is chosen.
#pragma once

#include <cairn/platform/random.hpp>
#include <cairn/run/huge_table.hpp>
#include <cairn/run/run_heap.hpp>

namespace cairn {

class HugeMappings {
public:
    explicit constexpr HugeMappings(RunHeap &runs) : runs_(runs) {}

    /// A new mapping: zeroed memory.
    char *map(std::size_t bytes, std::size_t alignment) {
        char *const p = map_anew(bytes, alignment);
        if (p != nullptr) {
            pay();
        }
        return p;
    }

    /// How many bytes have to be given back before `bytes` more are taken, if `cached` bytes are free beside the free
    /// runs.
    std::size_t price(std::size_t bytes, std::size_t cached) {
        return runs_.price(bytes, PurgingRuns::beside_mappings, cached);
    }

    /// By how much mappings have raised the water line, in all.
    std::size_t risen() const { return risen_.load(std::memory_order_relaxed); }

    /// Whether unmapping lowers the water line; not where the memory is given back because other memory is taken.
    enum class Line : bool { falls, stays };

    void unmap(void *p, std::size_t bytes, Line line = Line::falls) {
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        // Without the lock: the calls may take long. Where the kernel refuses, the addresses are lost, not the memory.
        if (platform::vm::unmap(p, bytes) || platform::vm::purge(p, bytes)) {
            runs_.gave_back(bytes);
        }
        {
            sync::Guard hold(runs_.lock());
            runs_.space().shrank(bytes);
            if (line == Line::falls) {
                runs_.unmapped_locked(bytes);
            }
        }
        in_flight_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Out of memory: waits until other threads have unmapped what they are unmapping, some 100 ms at most. False if no
    /// thread was unmapping.
    bool wait_for_others() const {
        int i = 0;
        for (; i < platform::longest_wait && in_flight_.load(std::memory_order_relaxed) != 0; ++i) {
            platform::wait_a_little(i);
        }
        return i != 0;
    }

    void repair_after_fork() { in_flight_.store(0, std::memory_order_relaxed); }

    /// Changes the length of a mapping, in place or by moving its pages; the result starts at a window boundary.
    /// nullptr: nothing has changed.
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
            runs_.gave_back(before - bytes);
            sync::Guard hold(runs_.lock());
            runs_.unmapped_locked(before - bytes);
        } else {
            pay();
        }
        return true;
    }

    /// Moves the pages to a new mapping of `bytes`; the old mapping is then gone. The new one is mapped before, without
    /// access, so that it counts for no limit on data and for no commit charge: mremap() replaces it.
    char *move(void *p, std::size_t before, std::size_t bytes) {
        char *const to = map_without_access(bytes);
        if (to == nullptr) {
            return nullptr;
        }
        const std::size_t page = platform::vm::page_size();
        std::uint64_t *const mark = reinterpret_cast<std::uint64_t *>(to + bytes) - 1;
        const std::uint64_t secret = platform::secret() ^ address_of(mark);
        if (!platform::vm::allow(to + bytes - page, page)) {
            unmap(to, bytes, Line::stays); // the mapping has not raised the line
            return nullptr;
        }
        *mark = secret;
        if (!platform::vm::move(p, before, to, bytes)) {
            // The kernel may have unmapped the new mapping, and another thread may have mapped memory there since. It
            // is still the one made above if the mark is there.
            if (platform::vm::holds(mark, secret)) {
                unmap(to, bytes, Line::stays);
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

    char *map_without_access(std::size_t bytes) {
        sync::Guard hold(runs_.lock());
        return static_cast<char *>(
            runs_.space().take(bytes, /*dense=*/false, huge_guard, platform::vm::nothing));
    }

    void pay() { risen_.fetch_add(runs_.pay(PurgingRuns::beside_blocks), std::memory_order_relaxed); }

    void account(std::size_t before, std::size_t after) {
        sync::Guard hold(runs_.lock());
        runs_.space().shrank(before);
        runs_.space().grew(after);
    }

    RunHeap &runs_;
    std::atomic<unsigned> in_flight_{0}; ///< mappings that threads are unmapping; relaxed: a hint
    std::atomic<std::size_t> risen_{0};  ///< relaxed: a counter
};

} // namespace cairn
