// SPDX-License-Identifier: MIT
//
// OneSize: checks, in builds with assertions, that all requests to a free list are of one size.
//
// Adds:    check(list, size).
// Threads: those of the list.
// Errors:  a request of a second size ends the process.
// Cost:    none in a release build: there it is an empty class.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <cstddef>
#include <cstdint>

namespace cairn::detail {

template <bool Checked = platform::checked>
class OneSize {
public:
    /// `list` names the free list in the message.
    void check(const char *list, std::size_t size) {
        if (size_ != size && size_ != any_) {
            platform::fatal(
                {list, " of blocks of ", std::uint64_t{size_}, " bytes was asked for ", std::uint64_t{size}});
        }
        size_ = size;
    }

private:
    static constexpr std::size_t any_ = SIZE_MAX;
    std::size_t size_ = any_; ///< of all requests so far
};

template <>
class OneSize<false> {
public:
    void check(const char *, std::size_t) {}
};

} // namespace cairn::detail
