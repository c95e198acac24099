// SPDX-License-Identifier: MIT
//
// Clear: what was asked for is zero, and nothing behind the block is.
#include <cairn/platform/clear.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace cairn;

namespace {

TEST(Clear, ABlockAndNothingBehindIt) {
    for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
        const std::size_t block = std::max(align_up(bytes, 8), std::size_t{8});
        std::vector<unsigned char> memory(block + 64, 0xA5);
        EXPECT_EQ(platform::clear_block(memory.data(), bytes), memory.data());
        const auto asked = memory.begin() + static_cast<std::ptrdiff_t>(bytes);
        const auto behind = memory.begin() + static_cast<std::ptrdiff_t>(block);
        EXPECT_EQ(std::count(memory.begin(), asked, 0), std::distance(memory.begin(), asked)) << bytes;
        EXPECT_EQ(std::count(behind, memory.end(), 0xA5), 64) << bytes;
    }
}

} // namespace
