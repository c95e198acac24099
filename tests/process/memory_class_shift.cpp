// SPDX-License-Identifier: MIT
//
// Memory goes from class to class.
#include "memory_fill.hpp"

using namespace process_test;

int main() {
    check_peak_of({64, 1000, 48, 8000, 300 * KiB, 200, 30000, 96, 3000});
}
