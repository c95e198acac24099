// SPDX-License-Identifier: MIT
//
// Random: a secret that differs from process to process, words drawn from it that reveal neither the secret nor each
// other, and a mixing function.
//
// Needs:   the kernel's AT_RANDOM bytes, which exist before the C library is initialised. The C library derives the
//          guards of stacks and pointers from them: a program that reads a word of a free block must not learn them.
// Threads: any.
// Cost:    mix: a handful of instructions. draw: some 120.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <sys/auxv.h>

namespace cairn::platform {

struct Key {
    std::uint64_t low;
    std::uint64_t high;
};

/// SipHash-2-4 of one word (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012): without the key the result
/// cannot be told from a random number.
constexpr std::uint64_t draw(Key key, std::uint64_t number) {
    std::uint64_t v[] = {key.low ^ 0x736f6d6570736575u, key.high ^ 0x646f72616e646f6du,
                         key.low ^ 0x6c7967656e657261u, key.high ^ 0x7465646279746573u};
    const auto half_round = [&v](unsigned a, unsigned b, unsigned c, unsigned d, int first, int second) {
        v[a] += v[b];
        v[c] += v[d];
        v[b] = std::rotl(v[b], first) ^ v[a];
        v[d] = std::rotl(v[d], second) ^ v[c];
        v[a] = std::rotl(v[a], 32);
    };
    const auto rounds = [&](int count) {
        for (; count > 0; --count) {
            half_round(0, 1, 2, 3, 13, 16);
            half_round(2, 1, 0, 3, 17, 21);
        }
    };
    constexpr std::uint64_t length_in_bytes = std::uint64_t{8} << 56;
    for (const std::uint64_t block : {number, length_in_bytes}) {
        v[3] ^= block;
        rounds(2);
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    rounds(4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/// The secret of this process.
inline std::uint64_t secret() {
    Key key{0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u};
    if (const auto at = getauxval(AT_RANDOM)) {
        std::memcpy(&key, reinterpret_cast<const void *>(at), sizeof key);
    }
    return draw(key, 0);
}

/// A fast mixing function, not for secrets: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

} // namespace cairn::platform
