// SPDX-License-Identifier: MIT
//
// Mappings of a heap of stripes: the stripes, and the blocks that are too long for one.
//
// Adds:    stripes for subheaps; long blocks, a mapping each, whose payload starts at a stripe and whose length stands
//          in the page before it; who owns an address.
// Needs:   the stripe table.
// Keeps:   an address of a stripe that is ours, or of a long block's first stripe, is in the table; destroying it
//          unmaps all of them.
// Threads: any; no lock.
// Errors:  nullptr or false, with nothing changed.
// Cost:    two to five system calls for a new mapping, one to end it; a page for a long block's length.
// Source:  LKmalloc, section 6, G. The document does not say what becomes of requests over a stripe.
#pragma once

#include <cairn/family/lkmalloc_stripes.hpp>
#include <cairn/platform/huge_pages.hpp>

namespace cairn::lkmalloc {

template <std::size_t StripeSize>
class Mappings {
public:
    using Table = StripeTable<StripeSize>;
    using Owner = typename Table::Owner;
    static constexpr Owner long_block = 255;

    constexpr Mappings() = default;

    ~Mappings() {
        table_.for_each([](char *stripe, Owner owner) {
            const std::size_t page = owner == long_block ? platform::vm::page_size() : 0;
            const std::size_t bytes = owner == long_block ? length(stripe) : StripeSize;
            platform::vm::unmap(stripe - page, page + bytes);
        });
    }

    Owner owner_of(const void *p) const { return table_.owner_of(p); }

    /// Zeroed, nothing committed, and committed a page at a time: no huge pages.
    char *new_stripe(Owner owner) {
        char *const stripe = map(0, StripeSize, StripeSize);
        if (stripe == nullptr) {
            return nullptr;
        }
        platform::vm::huge_pages(stripe, StripeSize, false);
        if (!table_.set(stripe, owner)) {
            unmap(stripe, StripeSize);
            return nullptr;
        }
        return stripe;
    }

    bool return_stripe(char *stripe, Owner owner) {
        table_.set(stripe, Table::nobody);
        const bool returned = unmap(stripe, StripeSize);
        if (!returned) {
            table_.set(stripe, owner);
        }
        return returned;
    }

    char *new_long(std::size_t size, std::size_t alignment) {
        if (size > largest_ || alignment > largest_) {
            return nullptr;
        }
        const std::size_t page = platform::vm::page_size();
        const std::size_t bytes = align_up(std::max<std::size_t>(size, 1), page);
        char *const p = map(page, bytes, std::max(alignment, StripeSize));
        if (p == nullptr) {
            return nullptr;
        }
        if (!table_.set(p, long_block)) {
            unmap(p - page, page + bytes);
            return nullptr;
        }
        length(p) = bytes;
        long_bytes_.fetch_add(bytes, std::memory_order_relaxed);
        long_blocks_.fetch_add(1, std::memory_order_relaxed);
        return p;
    }

    void return_long(char *p) {
        const std::size_t page = platform::vm::page_size();
        const std::size_t bytes = length(p);
        table_.set(p, Table::nobody);
        long_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        long_blocks_.fetch_sub(1, std::memory_order_relaxed);
        // Where the kernel allows no more mappings it does not cut one either: the memory goes, the addresses stay.
        if (!unmap(p - page, page + bytes)) {
            platform::vm::purge(p - page, page + bytes);
        }
    }

    static std::size_t length_of(const void *p) { return length(static_cast<const char *>(p)); }

    /// f(stripe, owner) for each stripe of a subheap.
    template <class F>
    void for_each_stripe(F f) const {
        table_.for_each([&](char *stripe, Owner owner) {
            if (owner != long_block) {
                f(stripe, owner);
            }
        });
    }

    std::size_t mapped() const { return mapped_.load(std::memory_order_relaxed); }
    std::size_t long_bytes() const { return long_bytes_.load(std::memory_order_relaxed); }
    std::size_t long_blocks() const { return long_blocks_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t largest_ = std::size_t{1} << (platform::address_bits - 1);

    static std::size_t &length(const char *p) {
        return *reinterpret_cast<std::size_t *>(const_cast<char *>(p) - platform::vm::page_size());
    }
    /// acquire, and release in unmap(): who gets addresses from the kernel is behind whoever gave them back, and so
    /// behind all that was done with them.
    void note_mapped(std::size_t bytes) { mapped_.fetch_add(bytes, std::memory_order_acquire); }

    bool unmap(char *start, std::size_t bytes) {
        mapped_.fetch_sub(bytes, std::memory_order_release);
        const bool gone = platform::vm::unmap(start, bytes);
        if (!gone) {
            note_mapped(bytes);
        }
        return gone;
    }

    /// p, a multiple of `alignment`, with [p - before, p + bytes) mapped.
    char *map(std::size_t before, std::size_t bytes, std::size_t alignment) {
        char *const start = map_aligned(before, before + bytes, alignment);
        if (start == nullptr) {
            return nullptr;
        }
        note_mapped(before + bytes);
        return start + before;
    }

    /// `wanted` bytes whose start + before is a multiple of `alignment`.
    static char *map_aligned(std::size_t before, std::size_t wanted, std::size_t alignment) {
        auto *start = static_cast<char *>(platform::vm::map(wanted));
        if (start == nullptr ||
            is_aligned(start + before, alignment)) { // the kernel puts stripe under stripe
            return start;
        }
        platform::vm::unmap(start, wanted);
        const std::size_t slack = alignment - platform::vm::page_size();
        start = static_cast<char *>(platform::vm::map(wanted + slack));
        if (start == nullptr) {
            return nullptr;
        }
        const std::size_t skipped =
            align_up(address_of(start) + before, alignment) - before - address_of(start);
        if ((skipped != 0 && !platform::vm::unmap(start, skipped)) ||
            (skipped != slack && !platform::vm::unmap(start + skipped + wanted, slack - skipped))) {
            platform::vm::unmap(start, wanted + slack);
            return nullptr;
        }
        return start + skipped;
    }

    Table table_;
    std::atomic<std::size_t> mapped_{0};     ///< bytes
    std::atomic<std::size_t> long_bytes_{0}; ///< relaxed: a counter, as the next one
    std::atomic<std::size_t> long_blocks_{0};
};

} // namespace cairn::lkmalloc
