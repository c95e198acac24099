// SPDX-License-Identifier: MIT
//
// A region in a static buffer: no operating system, no frees; all of it goes at once.
#include "expect.hpp"

#include <cairn/source/static_buffer.hpp>

#include <cstring>

using namespace cairn;

namespace {

StaticBufferHeap<16_KiB> region;

/// Joins words in scratch memory that the caller drops as a whole.
char *join(const char *const *words, std::size_t count) {
    std::size_t length = 1;
    for (std::size_t i = 0; i < count; ++i) {
        length += std::strlen(words[i]) + 1;
    }
    auto *const line = static_cast<char *>(region.malloc(length));
    if (line != nullptr) {
        line[0] = 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::strcat(std::strcat(line, words[i]), " ");
        }
    }
    return line;
}

} // namespace

int main() {
    const char *const words[] = {"a", "heap", "of", "stones"};
    char *const line = join(words, 4);
    expect(line != nullptr && std::strcmp(line, "a heap of stones ") == 0, "the words are joined");
    expect(region.owns(line) && region.remaining() < 16_KiB, "in the buffer");
    expect(region.malloc(16_KiB) == nullptr, "the buffer is all there is");
    region.clear();
    expect(region.remaining() == 16_KiB, "all of it is free again");
}
