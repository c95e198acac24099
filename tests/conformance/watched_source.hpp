// SPDX-License-Identifier: MIT
//
// WatchedSource: a source of memory for tests, which counts what it has given out and fails when it is told
// to.
//
// Adds:    a ledger, one for all WatchedSources, since a composition makes its own: live blocks, requests,
//          the peak.
// Needs:   the system's malloc.
// Keeps:   a free of what is not live is a failed test.
// Threads: one at a time.
#pragma once

#include <cairn/core/capability.hpp>
#include <cairn/core/concepts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace cairn::conformance {

class Ledger {
public:
    static constexpr std::size_t never = SIZE_MAX;

    /// From here on the requests number `fail_first` to `fail_last`, counted from 1, are refused.
    void open(std::size_t fail_first = never, std::size_t fail_last = never) {
        requests = 0;
        failures = 0;
        peak_bytes = bytes;
        fail_first_ = fail_first;
        fail_last_ = fail_last;
    }

    void *malloc(std::size_t size) {
        ++requests;
        if (requests >= fail_first_ && requests <= fail_last_) {
            ++failures;
            return nullptr;
        }
        void *const p = size > PTRDIFF_MAX ? nullptr : std::malloc(size);
        if (p != nullptr) {
            live.emplace(p, size);
            bytes += size;
            peak_bytes = std::max(peak_bytes, bytes);
        }
        return p;
    }

    void free(void *p) {
        const auto found = live.find(p);
        if (found == live.end()) {
            ADD_FAILURE() << "the source got back " << p << ", which it did not give out";
            return;
        }
        bytes -= found->second;
        live.erase(found);
        std::free(p);
    }

    std::map<void *, std::size_t> live;
    std::size_t bytes = 0;
    std::size_t peak_bytes = 0;
    std::size_t requests = 0;
    std::size_t failures = 0;

private:
    std::size_t fail_first_ = never;
    std::size_t fail_last_ = never;
};

inline Ledger &ledger() {
    static Ledger the_ledger;
    return the_ledger;
}

class WatchedSource {
public:
    WatchedSource() = default;
    WatchedSource(const WatchedSource &) = delete;
    WatchedSource &operator=(const WatchedSource &) = delete;

    void *malloc(std::size_t size) { return ledger().malloc(size); }
    void free(void *p) { ledger().free(p); }
};

static_assert(capabilities_of<WatchedSource> == Capability::none);

} // namespace cairn::conformance
