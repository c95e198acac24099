// SPDX-License-Identifier: MIT
//
// Address space: aligned ranges of addresses from the operating system, the source of all memory of the malloc.
//
// Adds:    take: a range that starts at a window boundary; extend; give_back; reserve: a window that is used in parts.
// Needs:   WindowPlaces.
// Keeps:   never maps more than requested, so it works under `ulimit -v`; step() is smaller under such a limit. The
//          kernel puts no huge pages into segments unasked: it would make 2 MiB resident at the first touch of a page.
// Threads: the caller holds a lock.
// Errors:  nullptr when the kernel or a limit refuses.
// Cost:    that of WindowPlaces.
#pragma once

#include <cairn/platform/huge_pages.hpp>
#include <cairn/run/window_places.hpp>

#include <algorithm>

namespace cairn {

/// Where huge pages are wanted. system: where the kernel's setting puts them. none: not in segments. growth: in
/// segments, for fresh runs, one huge page at a time (HugeSteps). dense: also in ranges that are used from end to end
/// (huge blocks). everywhere: in all memory.
enum class HugePageUse : unsigned char { system, none, growth, dense, everywhere };

class AddressSpace {
public:
    constexpr AddressSpace() = default;

    /// Zeroed memory, aligned to window_size. `bytes` is a multiple of the page size. `dense`: all of it will be used.
    /// The first `behind` bytes after the range stay unmapped.
    void *take(std::size_t bytes, bool dense, std::size_t behind = 0,
               platform::vm::Access access = platform::vm::read_and_write) {
        return counted(place(bytes, dense, behind, WindowPlaces::For::other, access), bytes);
    }

    /// Zeroed memory at the start of a window, for a segment.
    void *take_for_segment(std::size_t bytes) {
        return counted(
            place(bytes, /*dense=*/false, 0, WindowPlaces::For::segment, platform::vm::read_and_write),
            bytes);
    }

    /// A whole window for a segment, without access: no other code can map memory there. A part of it is used after
    /// vm::allow(), and counts as mapped from then on.
    void *reserve() {
        return place(window_size, /*dense=*/false, 0, WindowPlaces::For::segment, platform::vm::nothing);
    }
    void unreserve(void *window) {
        platform::vm::unmap(window, window_size);
        places_.left(window);
    }

    /// take() for any alignment.
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

    /// Maps the bytes that follow a segment's. False when the kernel refuses; `taken` is set to whether the reason was
    /// another mapping there.
    bool extend(void *end, std::size_t bytes, bool *taken = nullptr) {
        if (platform::vm::map_at(end, bytes, taken) == nullptr) {
            return false;
        }
        advise(end, bytes, /*dense=*/false, WindowPlaces::For::segment);
        grew(bytes);
        return true;
    }

    void give_back(void *p, std::size_t bytes) {
        platform::vm::unmap(p, bytes);
        mapped_ -= bytes;
    }

    /// The account of mapped bytes, for mappings whose length the caller has changed. recount(): sets it, in the child
    /// of a fork, where another thread of the parent may have changed a mapping and not yet the account.
    void grew(std::size_t bytes) {
        mapped_ += bytes;
        peak_ = mapped_ > peak_ ? mapped_ : peak_;
    }
    void shrank(std::size_t bytes) { mapped_ -= bytes; }
    void recount(std::size_t bytes) { mapped_ = bytes; }

    /// Any thread may call it. relaxed: a setting that orders no other memory.
    void use_huge_pages(HugePageUse which) { huge_pages_.store(which, std::memory_order_relaxed); }

    /// Whether fresh runs are to be backed by huge pages one at a time; not with `everywhere`, where all memory is
    /// marked.
    bool wants_huge_steps() const {
        const HugePageUse use = huge_pages_.load(std::memory_order_relaxed);
        return use == HugePageUse::growth || use == HugePageUse::dense;
    }

    /// The system gives huge pages to memory that is not marked for or against them. relaxed, as above.
    void set_unasked(bool given) { unasked_.store(given, std::memory_order_relaxed); }
    bool is_unasked() const { return unasked_.load(std::memory_order_relaxed); }

    /// Whether segments are marked against them.
    bool refuses_unasked() const {
        const HugePageUse use = huge_pages_.load(std::memory_order_relaxed);
        return use != HugePageUse::system && use != HugePageUse::everywhere;
    }

    std::size_t mapped() const { return mapped_; }
    std::size_t mapped_peak() const { return peak_; }

    /// How much of a window to map at a time: all of it, or a 32nd of the limit where address space is limited.
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
        advise(p, bytes, dense, what);
        return p;
    }

    void advise(void *p, std::size_t bytes, bool dense, WindowPlaces::For what) const {
        const HugePageUse use = huge_pages_.load(std::memory_order_relaxed);
        if (use == HugePageUse::everywhere || (dense && use == HugePageUse::dense)) {
            platform::vm::huge_pages(p, bytes, true);
        } else if (what == WindowPlaces::For::segment && refuses_unasked()) {
            platform::vm::huge_pages(p, bytes, false);
        }
    }

    static constexpr std::size_t max_bytes_ = std::size_t{1} << (platform::address_bits - 1);

    WindowPlaces places_;
    std::size_t mapped_ = 0;
    std::size_t peak_ = 0;
    std::atomic<HugePageUse> huge_pages_{HugePageUse::none};
    std::atomic<bool> unasked_{false};
};

} // namespace cairn
