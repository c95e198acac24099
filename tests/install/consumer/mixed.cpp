// SPDX-License-Identifier: MIT
//
// The file with assertions.
#include "mixed.hpp"

bool keeps_to_itself_in_release();

int main() {
    return keeps_to_itself_in_release() && keeps_to_itself() ? 0 : 1;
}
