// SPDX-License-Identifier: MIT
//
// Memory passes between small blocks and those that are mappings of their own as well.
#include "memory_fill.hpp"

using namespace process_test;

int main() {
    check_peak_of({64, 32 * MiB, 1000, 48 * MiB});
}
