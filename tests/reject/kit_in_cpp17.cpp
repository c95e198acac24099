// SPDX-License-Identifier: MIT
// expect: Cairn's headers are C++20: -std=c++20
// options: -std=c++17
#include <cairn/core/compose.hpp>

int main() {}
