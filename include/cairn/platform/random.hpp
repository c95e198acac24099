// SPDX-License-Identifier: MIT
//
// Random: a secret that differs from process to process, and a mixer, to draw words from it.
//
// Needs:   the kernel's AT_RANDOM bytes (there before libc is ready).
// Threads: any.
// Cost:    a handful of instructions.
#pragma once

#include <cstdint>
#include <cstring>

#include <sys/auxv.h>

namespace cairn::platform {

inline std::uint64_t secret() {
    std::uint64_t words[2] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u};
    if (const auto at = getauxval(AT_RANDOM)) {
        std::memcpy(words, reinterpret_cast<const void *>(at), sizeof words);
    }
    return words[0] ^ (words[1] << 29 | words[1] >> 35);
}

/// splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

} // namespace cairn::platform
