// SPDX-License-Identifier: MIT
// expect: Cairn knows x86-64 and aarch64
// options: -U__LP64__
#include <cairn/core/compose.hpp>
#include <cairn/source/mmap.hpp>

int main() {}
