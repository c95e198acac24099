// SPDX-License-Identifier: MIT
//
// A heap under std::pmr containers, chosen at run time: strings in a region that is dropped as a whole.
#include "expect.hpp"

#include <cairn/adapt/pmr.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/source/system_malloc.hpp>

#include <string>
#include <vector>

using namespace cairn;

namespace {

std::size_t letters(std::pmr::memory_resource *memory) {
    std::pmr::vector<std::pmr::string> names(memory);
    for (int i = 0; i < 100; ++i) {
        names.emplace_back(std::size_t{50} + static_cast<std::size_t>(i), 'n');
    }
    std::size_t sum = 0;
    for (const std::pmr::string &name : names) {
        sum += name.size();
    }
    return sum;
}

} // namespace

int main() {
    Compose<MallocHeap, Bump<16_KiB>> region;
    HeapResource resource(region);
    expect(letters(&resource) == letters(std::pmr::new_delete_resource()), "the same, whatever is below");

    const std::pmr::string one(1000, 'x', &resource);
    expect(region.owns(one.data()), "the characters are in the region");
}
