// SPDX-License-Identifier: MIT
//
// A serial heap under one lock: Lea's allocator, and a bounded spin lock around all of it.
//
// Source: LKmalloc, section 7, item 3: "DLmalloc with a global lock", a bounded spin lock of 4,000 looks; Hoard,
// section 6.1 and Table 7: fast, O(1) blowup; the lock keeps it from scaling, and threads that allocate in turns get
// neighbouring blocks (active false sharing).
#pragma once

#include <allocators/lea.hpp>

#include <cairn/sync/bounded_spin_lock.hpp>

namespace cairn {

template <unsigned Spins>
class SerialLock : public sync::BoundedSpinLock<Spins> {
public:
    constexpr SerialLock() : sync::BoundedSpinLock<Spins>(sync::Rank::thread_heap) {}
};

struct SerialParameters {
    using OneHeap = Lea<>;
    using Lock = SerialLock<sync::default_spins>;
};

template <class P = SerialParameters>
using Serial = Compose<typename P::OneHeap, Locked<typename P::Lock>>;

} // namespace cairn
