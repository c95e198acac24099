// SPDX-License-Identifier: MIT
//
// Sites: where in the program its atomic operations stand, and which of them are to have a weaker order than they ask
// for (mutants.py).
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

namespace cairn::model {

/// A place that the compiler has put an operation at, what it does there, and the order that it asked for.
struct Site {
    enum Kind : unsigned char { load, store, update, failure, fence };
    std::uintptr_t at;
    Kind kind;
    int order;
    bool operator<(const Site &other) const {
        return std::tie(at, kind, order) < std::tie(other.at, other.kind, other.order);
    }
};

struct Sites {
    std::uintptr_t base = 0; ///< of the program in memory
    bool wanted = false;
    std::set<Site> seen;
    std::set<std::pair<std::uintptr_t, Site::Kind>> weakened;
    int weaker_order = __ATOMIC_RELAXED;

    /// The order that the operation has.
    int order_of(const void *code, Site::Kind kind, int asked) {
        const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(code) - base;
        if (wanted) {
            seen.insert({at, kind, asked});
        }
        return !weakened.empty() && weakened.count({at, kind}) != 0 ? weaker_order : asked;
    }
};
extern Sites sites;

} // namespace cairn::model
