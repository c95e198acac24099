// SPDX-License-Identifier: MIT
#include "model.hpp"

namespace cairn::conformance {

namespace {

/// Blocks of up to `edge` bytes at each end are filled, and a byte of each page between: enough to
/// notice a neighbour, and a gigabyte stays unread.
constexpr std::size_t edge = Model::filled_whole / 2;
constexpr std::size_t stride = 64_KiB;

std::size_t step(std::size_t i, std::size_t size) {
    return std::min(stride, size - edge - i);
}

template <class F>
void for_each_watched(std::size_t size, F f) {
    for (std::size_t i = 0; i < size; i += i < edge || i + edge >= size ? 1 : step(i, size)) {
        f(i);
    }
}

unsigned char pattern(std::size_t i, std::uint64_t seed) {
    return static_cast<unsigned char>((i * 131 + seed * 167) >> 3);
}

void fill(std::uintptr_t start, std::size_t size, std::uint64_t seed) {
    auto *const bytes = reinterpret_cast<unsigned char *>(start);
    for_each_watched(size, [&](std::size_t i) { bytes[i] = pattern(i, seed); });
}

std::size_t first_damage(std::uintptr_t start, std::size_t size, std::uint64_t seed) {
    const auto *const bytes = reinterpret_cast<const unsigned char *>(start);
    std::size_t damage = size;
    for_each_watched(size, [&](std::size_t i) {
        if (damage == size && bytes[i] != pattern(i, seed)) {
            damage = i;
        }
    });
    return damage;
}

} // namespace

void Model::admit(void *p, std::size_t size, std::size_t alignment) {
    ASSERT_NE(p, nullptr);
    const auto start = address_of(p);
    EXPECT_TRUE(is_aligned(start, alignment)) << p << " of " << size << " bytes, wanted " << alignment;
    if (size == 0) {
        empty_.push_back(p);
        return;
    }
    const auto above = blocks_.upper_bound(start);
    if (above != blocks_.end()) {
        ASSERT_LE(start + size, above->first) << "a block of " << size << " bytes overlaps a live one";
    }
    if (above != blocks_.begin()) {
        const auto below = std::prev(above);
        ASSERT_LE(below->first + below->second.size, start) << "a live block overlaps one of " << size;
    }
    if (heap_.can().get_size != nullptr) {
        EXPECT_GE(heap_.getSize(p), size);
    }
    if (heap_.can().owns != nullptr) {
        EXPECT_TRUE(heap_.owns(p));
    }
    ASSERT_TRUE(blocks_.emplace(start, Block{size, ++seed_}).second) << p << " is live already";
    live_bytes_ += size;
    fill(start, size, seed_);
}

void Model::check(void *p) const {
    const auto &block = blocks_.at(address_of(p));
    EXPECT_EQ(first_damage(address_of(p), block.size, block.seed), block.size)
        << "offset of the first damaged byte of a block of " << block.size;
}

void Model::check_all() const {
    for (const auto &[start, block] : blocks_) {
        check(reinterpret_cast<void *>(start));
    }
}

void Model::free_one(void *p) {
    check(p);
    forget(address_of(p));
    heap_.free(p);
}

void Model::admit_moved(std::uintptr_t from, void *to, std::size_t size, std::size_t alignment) {
    const Block old = forget(from);
    const std::size_t common = std::min(old.size, size);
    EXPECT_EQ(first_damage(address_of(to), common, old.seed), common) << "reallocate lost contents";
    admit(to, size, alignment);
}

void Model::free_all() {
    while (!blocks_.empty()) {
        free_one(reinterpret_cast<void *>(blocks_.begin()->first));
    }
    for (void *p : empty_) {
        heap_.free(p);
    }
    empty_.clear();
}

void Model::forget_all() {
    check_all();
    blocks_.clear();
    empty_.clear();
    live_bytes_ = 0;
}

Model::Block Model::forget(std::uintptr_t start) {
    const auto found = blocks_.find(start);
    const Block block = found->second;
    live_bytes_ -= block.size;
    blocks_.erase(found);
    return block;
}

} // namespace cairn::conformance
