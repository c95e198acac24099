// SPDX-License-Identifier: MIT
#include "threads_suite.hpp"

#include <allocators/hoard.hpp>

namespace cairn::concurrent {

/// Two heaps, so that every lock is contended and every superblock freed into by others; and superblocks move at every
/// chance: one superblock's worth may be free.
struct Restless : HoardParameters {
    static constexpr std::size_t slack = 1;
    static unsigned processors() { return 1; }
};

using Heaps = testing::Types<Hoard<>, Hoard<Restless>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Hoard, Threads, Heaps);

} // namespace cairn::concurrent
