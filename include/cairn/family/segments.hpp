// SPDX-License-Identifier: MIT
//
// Segments: superblocks from the operating system, each with a descriptor apart from it.
//
// Adds:    take: a superblock that was never used, all zero.
// Needs:   a Layout (segment_layout.hpp), whose descriptors are all zero at first and have `next`, an atomic pointer,
//          and room for a mapping's extent (set_mapping, mapping).
// Keeps:   each superblock is taken once. Segments stay mapped until the heap is destroyed.
// Threads: any; lock-free: of two that map a segment at once one throws it away.
// Errors:  nullptr when the kernel has no memory.
// Cost:    a compare-exchange; a mapping for every 15 superblocks.
// Source:  NBmalloc says no more than that memory comes from the operating system; this is ours.
#pragma once

#include <cairn/family/segment_layout.hpp>
#include <cairn/platform/vm.hpp>

#include <atomic>

namespace cairn::family {

/// `bytes` at a multiple of `alignment`, `room` bytes behind the start of the mapping at least. What the mapping really
/// is, is more when the kernel would not cut it.
struct AlignedMapping {
    char *start = nullptr;
    std::size_t length = 0;
    char *aligned = nullptr;

    void discard() const {
        if (start != nullptr) {
            platform::vm::unmap(start, length);
        }
    }

    /// `alignment`, `room` and `bytes` are multiples of the page size and do not overflow together.
    static AlignedMapping make(std::size_t alignment, std::size_t room, std::size_t bytes) {
        const std::size_t all = alignment + room + bytes;
        auto *const start = static_cast<char *>(platform::vm::map(all));
        if (start == nullptr) {
            return {};
        }
        const std::size_t before = align_up(address_of(start) + room, alignment) - address_of(start) - room;
        AlignedMapping result{start, all, start + before + room};
        if (before == 0 || platform::vm::unmap(start, before)) {
            result.start += before;
            result.length -= before;
        }
        const std::size_t needed = static_cast<std::size_t>(result.aligned - result.start) + bytes;
        if (result.length > needed && platform::vm::unmap(result.start + needed, result.length - needed)) {
            result.length = needed;
        }
        return result;
    }
};

template <class Layout>
class Segments {
    using Descriptor = typename Layout::Descriptor;

public:
    constexpr Segments() = default;
    Segments(const Segments &) = delete;
    Segments &operator=(const Segments &) = delete;
    ~Segments() {
        // relaxed: nobody else is here any more
        for (Descriptor *head = all_.load(std::memory_order_relaxed); head != nullptr;) {
            const AlignedMapping mapping = mapping_of(head);
            char *const next = head->next.load(std::memory_order_relaxed); // lies in it
            mapping.discard();
            head = next == nullptr ? nullptr : Layout::descriptor(next);
        }
    }

    Descriptor *take() {
        std::uint64_t now = current_.load(std::memory_order_relaxed); // relaxed: the exchanges decide
        for (;;) {
            const std::uint64_t used = now % Layout::segment;
            if (now != 0 && used < Layout::in_segment) {
                // acquire: pairs with the release below of who mapped the segment, and hands it on as well.
                if (current_.compare_exchange_weak(now, now + 1, std::memory_order_acquire,
                                                   std::memory_order_relaxed)) {
                    return Layout::descriptor(
                        reinterpret_cast<char *>(now - used + used * Layout::superblock));
                }
                continue;
            }
            const std::uint64_t full = now;
            const AlignedMapping mapping = AlignedMapping::make(Layout::segment, 0, Layout::segment);
            if (mapping.aligned == nullptr) {
                now = current_.load(std::memory_order_relaxed); // as above; another thread had more luck?
                if (now == full) {
                    return nullptr;
                }
                // release: the kernel's zeroes come before the address.
            } else if (current_.compare_exchange_strong(now, address_of(mapping.aligned) + 2,
                                                        std::memory_order_release,
                                                        std::memory_order_relaxed)) {
                enter(mapping);
                return Layout::descriptor(mapping.aligned + Layout::superblock);
            } else {
                mapping.discard();
            }
        }
    }

    /// f(descriptor) for each superblock that was or is about to be taken.
    template <class F>
    void for_each(F f) const {
        // acquire: pairs with the release in enter().
        for (Descriptor *head = all_.load(std::memory_order_acquire); head != nullptr;) {
            for (std::size_t i = 1; i < Layout::in_segment; ++i) {
                f(head[i]);
            }
            char *const next = head->next.load(std::memory_order_relaxed); // written before the release
            head = next == nullptr ? nullptr : Layout::descriptor(next);
        }
    }

private:
    /// The descriptor of the superblock that has the descriptors links the segments and has the mapping's extent.
    void enter(const AlignedMapping &mapping) {
        Descriptor *const head = Layout::descriptor(mapping.aligned);
        head->set_mapping(address_of(mapping.start), mapping.length);
        Descriptor *next = all_.load(std::memory_order_relaxed); // relaxed: the exchange decides
        do {
            // relaxed: the release below makes it visible.
            head->next.store(next == nullptr ? nullptr : Layout::memory(next), std::memory_order_relaxed);
        } while (
            !all_.compare_exchange_weak(next, head, std::memory_order_release, std::memory_order_relaxed));
    }

    static AlignedMapping mapping_of(Descriptor *head) {
        const auto extent = head->mapping();
        return {reinterpret_cast<char *>(extent.low), extent.high, nullptr};
    }

    std::atomic<std::uint64_t> current_{
        0}; ///< a segment and the number of its next superblock, up to in_segment
    std::atomic<Descriptor *> all_{nullptr};
};

} // namespace cairn::family
