// SPDX-License-Identifier: MIT
// expect: the table ends above 16 bytes for each step of a doubling
#include <cairn/sizeclass/geometric.hpp>

// Up to 128 bytes the classes are 16 apart, with 8 steps to a doubling: a table up to 64 has nothing of the rest.
constexpr auto largest = cairn::GeometricSizeClasses<256, 64>::size_of(3);
