// SPDX-License-Identifier: MIT
//
// Address space: aligned ranges from the operating system, the source of everything above.
//
// Adds:    take(bytes): a range that starts on a window border; extend; give back; reserve: a window that is used in parts.
// Needs:   WindowPlaces.
// Keeps:   takes no more than is asked for, so it works under `ulimit -v`; step() says where that is short.
// Threads: the caller holds a lock.
// Errors:  nullptr, when the kernel or a limit says no.
// Cost:    that of WindowPlaces.
#pragma once

#include <cairn/run/window_places.hpp>

#include <algorithm>

namespace cairn {

/// What is asked of the kernel about huge pages: nothing, some for runs that nothing has used yet (HugeSteps), wanted too where all
/// memory is in use, everywhere.
enum class HugePageUse : unsigned char { none, growth, dense, everywhere };

class AddressSpace {
public:
    constexpr AddressSpace() = default;

    /// `bytes` is a multiple of the page size. Zeroed memory, aligned to window_size. `dense`: all of it will
    /// be used. So many `behind` it are left to nobody.
    void *take(std::size_t bytes, bool dense, std::size_t behind = 0) {
        return counted(place(bytes, dense, behind, WindowPlaces::For::other, platform::vm::read_and_write),
                       bytes);
    }

    /// The same for a segment.
    void *take_for_segment(std::size_t bytes) {
        return counted(
            place(bytes, /*dense=*/false, 0, WindowPlaces::For::segment, platform::vm::read_and_write),
            bytes);
    }

    /// A window for a segment that is nobody else's, nor to be used before that is allowed, and not counted as mapped before.
    void *reserve() {
        return place(window_size, /*dense=*/false, 0, WindowPlaces::For::segment, platform::vm::nothing);
    }
    void unreserve(void *window) {
        platform::vm::unmap(window, window_size);
        places_.left(window);
    }

    /// The same for any alignment.
    void *take_aligned(std::size_t bytes, std::size_t alignment, bool dense, std::size_t behind) {
        if (alignment <= window_size) {
            return take(bytes, dense, behind);
        }
        auto *const raw = static_cast<char *>(take(bytes + alignment, dense, behind));
        if (raw == nullptr) {
            return nullptr;
        }
        auto *const p = reinterpret_cast<char *>(align_up(address_of(raw), alignment));
        if (p != raw) {
            give_back(raw, static_cast<std::size_t>(p - raw));
        }
        give_back(p + bytes, alignment - static_cast<std::size_t>(p - raw));
        return p;
    }

    /// Maps the bytes that follow a range of ours, if nothing lies there, which `taken` tells.
    bool extend(void *end, std::size_t bytes, bool *taken = nullptr) {
        if (platform::vm::map_at(end, bytes, taken) == nullptr) {
            return false;
        }
        grew(bytes);
        return true;
    }

    void give_back(void *p, std::size_t bytes) {
        platform::vm::unmap(p, bytes);
        mapped_ -= bytes;
    }

    /// For mappings whose length was changed in place; and what there is in a fork's child, where others may have been about to say so.
    void grew(std::size_t bytes) {
        mapped_ += bytes;
        peak_ = mapped_ > peak_ ? mapped_ : peak_;
    }
    void shrank(std::size_t bytes) { mapped_ -= bytes; }
    void recount(std::size_t bytes) { mapped_ = bytes; }

    /// Any thread. relaxed: a number by itself.
    void use_huge_pages(HugePageUse which) { huge_pages_.store(which, std::memory_order_relaxed); }

    /// Where the kernel does not give them anyway, and each range is as long as it is wanted.
    bool wants_huge_steps() const {
        const HugePageUse use = huge_pages_.load(std::memory_order_relaxed);
        return use == HugePageUse::growth || use == HugePageUse::dense;
    }

    std::size_t mapped() const { return mapped_; }
    std::size_t mapped_peak() const { return peak_; }

    /// How much of a window to map at a time: all of it, or where address space is limited a small part.
    static std::size_t step() {
        const std::size_t limit = platform::vm::address_space_limit();
        if (limit == SIZE_MAX) {
            return window_size;
        }
        return std::clamp(align_down(limit / 32, slot_size), 1_MiB, window_size);
    }

    static bool is_limited() { return platform::vm::address_space_limit() != SIZE_MAX; }

private:
    void *counted(void *p, std::size_t bytes) {
        if (p != nullptr) {
            grew(bytes);
        }
        return p;
    }

    void *place(std::size_t bytes, bool dense, std::size_t behind, WindowPlaces::For what,
                platform::vm::Access access) {
        if (bytes > max_bytes_) {
            return nullptr;
        }
        void *const p = places_.map(bytes, behind, what, access);
        if (p == nullptr || !WindowMap::covers(p, bytes)) {
            return nullptr;
        }
        const HugePageUse use = huge_pages_.load(std::memory_order_relaxed);
        if (use == HugePageUse::everywhere || (dense && use == HugePageUse::dense)) {
            platform::vm::huge_pages(p, bytes, true);
        }
        return p;
    }

    static constexpr std::size_t max_bytes_ = std::size_t{1} << (platform::address_bits - 1);

    WindowPlaces places_;
    std::size_t mapped_ = 0;
    std::size_t peak_ = 0;
    std::atomic<HugePageUse> huge_pages_{HugePageUse::none};
};

} // namespace cairn
