// SPDX-License-Identifier: MIT
//
// Window places: where the next range of windows is mapped.
//
// Adds:    map: a window of a segment goes behind the window row; if that is not possible, and for other ranges, below
//          the last range; if that is not possible, to an address that the kernel chooses.
// Needs:   platform::vm, WindowRow.
// Keeps:   ranges are adjacent where that is possible: the kernel holds adjacent ranges as one mapping, and the number
//          of mappings of a process is limited.
// Threads: the caller holds a lock.
// Errors:  nullptr when the kernel or a limit refuses.
// Cost:    one mmap; one more for each window that other code has mapped, and after four of these three calls.
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/window_row.hpp>

namespace cairn {

class WindowPlaces {
public:
    constexpr WindowPlaces() = default;

    enum class For : bool { segment, other };

    /// Maps `bytes` at the start of a window; the first `behind` bytes after them stay unmapped.
    void *map(std::size_t bytes, std::size_t behind, For what, platform::vm::Access access) {
        if (next_ == 0) {
            next_ = where_the_kernel_maps();
        }
        bool taken = true; // by another mapping; after any other refusal no other address is tried
        void *p = what == For::segment ? next_in_row(bytes, access) : nullptr;
        if (p == nullptr) {
            p = below_the_last(bytes, behind, near_tries_, access, taken);
        }
        if (p == nullptr && taken) {
            p = kernels_choice(bytes, behind, access);
        }
        if (p == nullptr && taken) {
            p = below_the_last(bytes, behind, far_tries_, access, taken);
        }
        return p;
    }

    /// The window was unmapped: if it was the last range, its address is used again.
    void left(const void *window) { next_ += next_ == address_of(window) ? window_size : 0; }

private:
    static constexpr int near_tries_ = 4;
    static constexpr int far_tries_ = 512;

    static std::uintptr_t where_the_kernel_maps() {
        const std::size_t page = platform::vm::page_size();
        void *p = platform::vm::map(page);
        if (p == nullptr) {
            return 0;
        }
        platform::vm::unmap(p, page);
        return align_down(address_of(p), window_size);
    }

    void *next_in_row(std::size_t bytes, platform::vm::Access access) const {
        const std::uintptr_t end = WindowRow::end();
        const std::uintptr_t at = end != 0 ? end : WindowRow::start(next_);
        return at >= window_size ? platform::vm::map_at(reinterpret_cast<void *>(at), bytes, nullptr, access)
                                 : nullptr; // no address of the kernel's is known
    }

    /// Maps below the last range, going downward, as the kernel chooses addresses. `taken` is set to whether a failure
    /// was due to another mapping.
    void *below_the_last(std::size_t bytes, std::size_t behind, int tries, platform::vm::Access access,
                         bool &taken) {
        std::uintptr_t at = align_down(next_ - bytes - behind, window_size);
        for (int i = 0; taken && i < tries && at < next_ && at >= window_size; ++i, at -= window_size) {
            if (void *p = platform::vm::map_at(reinterpret_cast<void *>(at), bytes, &taken, access)) {
                next_ = at;
                return p;
            }
        }
        return nullptr;
    }

    /// Maps enough for an aligned range at an address that the kernel chooses, and unmaps the rest.
    void *kernels_choice(std::size_t bytes, std::size_t behind, platform::vm::Access access) {
        const std::size_t page = platform::vm::page_size();
        const std::size_t slack = window_size - page + behind;
        auto *const raw = static_cast<char *>(platform::vm::map(bytes + slack, access));
        if (raw == nullptr) {
            return nullptr;
        }
        auto *const p = reinterpret_cast<char *>(align_up(address_of(raw), window_size));
        if (p != raw) {
            platform::vm::unmap(raw, static_cast<std::size_t>(p - raw));
        }
        const std::size_t tail = slack - static_cast<std::size_t>(p - raw);
        if (tail != 0) {
            platform::vm::unmap(p + bytes, tail);
        }
        next_ = address_of(p);
        return p;
    }

    std::uintptr_t next_ = 0; ///< start of the last range
};

} // namespace cairn
