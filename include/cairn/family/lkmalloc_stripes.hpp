// SPDX-License-Identifier: MIT
//
// Stripe table: to whom each stripe of the address space belongs.
//
// Adds:    the owner of an address, by the index of its stripe; a walk over all that are owned.
// Needs:   stripes aligned to their size. Maps memory for its leaves, which it never gives back before its end.
// Keeps:   0 for what is not ours.
// Threads: any may ask and any may set. A stripe's entry is set by whoever maps or unmaps it.
// Errors:  false when there is no memory for a leaf.
// Cost:    two loads. 32 KiB, and two pages for each 32 GiB of address space with stripes (of 4 MiB) in it.
// Source:  LKmalloc, section 6, G: a small array keeps track of which stripes belong to which subheaps. Addresses had
//          32 bits then: 1,024 stripes. With 47 an array is not small, hence the two steps.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/vm.hpp>

#include <algorithm>
#include <atomic>

namespace cairn::lkmalloc {

template <std::size_t StripeSize>
class StripeTable {
    static_assert(is_power_of_two(StripeSize) && StripeSize >= 64 * 1024, "stripes are whole pages");

public:
    using Owner = std::uint8_t;
    static constexpr Owner nobody = 0;

    constexpr StripeTable() = default;
    StripeTable(const StripeTable &) = delete;
    StripeTable &operator=(const StripeTable &) = delete;

    ~StripeTable() {
        for (auto &leaf : leaves_) {
            // relaxed: nobody else is there.
            if (Leaf *const old = leaf.load(std::memory_order_relaxed); old != nullptr) {
                platform::vm::unmap(old, leaf_bytes());
            }
        }
    }

    /// p points into a stripe that is ours. relaxed, both loads: the stripe was entered before any block of it was
    /// handed out, and the block's way to the caller is ordered by a list's lock and by the program.
    Owner owner_of(const void *p) const {
        const std::size_t stripe = address_of(p) / StripeSize;
        const Leaf *const leaf = leaves_[stripe / per_leaf_].load(std::memory_order_relaxed);
        return leaf->owners[stripe % per_leaf_].load(std::memory_order_relaxed);
    }

    bool set(const void *p, Owner owner) {
        const std::size_t stripe = address_of(p) / StripeSize;
        Leaf *const leaf = stripe / per_leaf_ < leaf_count_ ? leaf_at(leaves_[stripe / per_leaf_]) : nullptr;
        if (leaf == nullptr) {
            return false;
        }
        // release: pairs with for_each().
        leaf->owners[stripe % per_leaf_].store(owner, std::memory_order_release);
        return true;
    }

    /// f(start of the stripe, owner) for each that is owned. What others change meanwhile may be seen or not.
    template <class F>
    void for_each(F f) const {
        for (std::size_t i = 0; i < leaf_count_; ++i) {
            const Leaf *const leaf = leaves_[i].load(std::memory_order_acquire); // pairs with leaf_at()
            for (std::size_t j = 0; leaf != nullptr && j < per_leaf_; ++j) {
                // acquire: pairs with set().
                if (const Owner owner = leaf->owners[j].load(std::memory_order_acquire); owner != nobody) {
                    f(reinterpret_cast<char *>((i * per_leaf_ + j) * StripeSize), owner);
                }
            }
        }
    }

private:
    static constexpr std::size_t stripes_ = (std::size_t{1} << platform::address_bits) / StripeSize;
    static constexpr std::size_t per_leaf_ = std::min<std::size_t>(8192, stripes_);
    static constexpr std::size_t leaf_count_ = stripes_ / per_leaf_;

    struct Leaf {
        std::atomic<Owner> owners[per_leaf_];
    };
    static std::size_t leaf_bytes() { return align_up(sizeof(Leaf), platform::vm::page_size()); }

    static Leaf *leaf_at(std::atomic<Leaf *> &place) {
        Leaf *leaf = place.load(std::memory_order_acquire); // pairs with the exchange below
        if (CAIRN_UNLIKELY(leaf == nullptr)) {
            auto *const fresh = static_cast<Leaf *>(platform::vm::map(leaf_bytes()));
            if (fresh == nullptr) {
                return nullptr;
            }
            // release: pairs with the loads of the leaf, here, above and in for_each(); where it fails, it is such a
            // load.
            if (place.compare_exchange_strong(leaf, fresh, std::memory_order_release,
                                              std::memory_order_acquire)) {
                return fresh;
            }
            platform::vm::unmap(fresh, leaf_bytes());
        }
        return leaf;
    }

    std::atomic<Leaf *> leaves_[leaf_count_]{};
};

} // namespace cairn::lkmalloc
