// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/buffer.hpp>
#include <cairn/source/static_buffer.hpp>

#include <memory>

namespace cairn::conformance {

struct StaticBufferRow : Row<StaticBufferHeap<2_MiB>> {
    static constexpr std::size_t max_size = 2_MiB;
    static constexpr bool reuses = false;
};

/// A source that ends, under layers.
struct PoolInABufferRow : Row<Compose<StaticBufferHeap<4_MiB>, Bump<4_KiB>, Freelist>> {
    static constexpr std::size_t fixed_size = 200;
};

/// Memory of the program, of no good alignment.
struct Memory {
    std::unique_ptr<unsigned char[]> bytes = std::make_unique<unsigned char[]>(2_MiB + 9);
};
struct InMemory : private Memory, public BufferHeap {
    InMemory() : BufferHeap(bytes.get() + 9, 2_MiB) {}
};
struct BufferRow : Row<InMemory> {
    static constexpr std::size_t max_size = 2_MiB - 16;
    static constexpr bool reuses = false;
};

using Rows = testing::Types<StaticBufferRow, PoolInABufferRow, BufferRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(StaticBuffer, Conformance, Rows);

} // namespace cairn::conformance
