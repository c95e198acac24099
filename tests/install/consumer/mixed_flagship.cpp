// SPDX-License-Identifier: MIT
//
// The file with assertions.
#include "mixed_flagship.hpp"

void visit_in_release();

int main() {
    visit_in_release();
    visit();
}
