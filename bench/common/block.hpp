// SPDX-License-Identifier: MIT
// Blocks that prove themselves: take() writes a tag at both ends of a fresh block, drop() finds it again
// before it frees. An allocator that hands out the same bytes twice, or writes into a live block, or returns
// NULL or a misaligned address, ends the workload with the exit status `wrong_result`.
// The check costs a few instructions and touches only lines that a program writes anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace cairn::bench {

inline constexpr int wrong_result = 3;
inline constexpr std::size_t tag_size = sizeof(std::uint64_t);

// A block, and what drop() has to know of it.
struct Held {
    void *block = nullptr;
    std::size_t size = 0;
    std::uint64_t tag = 0;
};

// _exit, since the heap can no longer be trusted with exit handlers.
[[noreturn]] inline void wrong(const char *what, const void *block, std::size_t size) {
    char line[160];
    const int length =
        std::snprintf(line, sizeof line, "wrong result: %s (block %p of %zu bytes)\n", what, block, size);
    if (length > 0 && ::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0)
        ::_exit(wrong_result + 1);
    ::_exit(wrong_result);
}

inline void stamp(void *block, std::size_t size, std::uint64_t tag) {
    char *bytes = static_cast<char *>(block);
    if (size >= 2 * tag_size) {
        std::memcpy(bytes, &tag, tag_size);
        std::memcpy(bytes + size - tag_size, &tag, tag_size);
    } else if (size >= tag_size) {
        std::memcpy(bytes, &tag, tag_size);
        if (size > tag_size)
            bytes[size - 1] = static_cast<char>(tag);
    } else {
        for (std::size_t i = 0; i < size; ++i)
            bytes[i] = static_cast<char>(tag);
    }
}

[[nodiscard]] inline bool stamped(const void *block, std::size_t size, std::uint64_t tag) {
    const char *bytes = static_cast<const char *>(block);
    if (size < tag_size) {
        for (std::size_t i = 0; i < size; ++i)
            if (bytes[i] != static_cast<char>(tag))
                return false;
        return true;
    }
    std::uint64_t head = 0;
    std::memcpy(&head, bytes, tag_size);
    if (size < 2 * tag_size)
        return head == tag && (size == tag_size || bytes[size - 1] == static_cast<char>(tag));
    std::uint64_t tail = 0;
    std::memcpy(&tail, bytes + size - tag_size, tag_size);
    return head == tag && tail == tag;
}

// malloc's promise: aligned for every type that fits into the block.
inline void expect_sound(const void *block, std::size_t size) {
    if (block == nullptr)
        wrong("NULL from malloc", block, size);
    const std::size_t alignment = size >= 16 ? 16 : size >= 8 ? 8 : 1;
    if ((reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) != 0)
        wrong("misaligned block", block, size);
}

[[nodiscard]] inline void *take(std::size_t size, std::uint64_t tag) {
    void *block = std::malloc(size);
    expect_sound(block, size);
    stamp(block, size, tag);
    return block;
}

inline void drop(void *block, std::size_t size, std::uint64_t tag) {
    if (!stamped(block, size, tag))
        wrong("contents of a live block changed", block, size);
    std::free(block);
}

// Writes to every page in between, as a program that uses its large blocks does.
inline void touch_pages(void *block, std::size_t size) {
    constexpr std::size_t stride = 4096;
    volatile char *bytes = static_cast<volatile char *>(block);
    for (std::size_t i = stride; i + tag_size < size; i += stride)
        bytes[i] = 1;
}

} // namespace cairn::bench
