// SPDX-License-Identifier: MIT
//
// The file without them.
#include "mixed_flagship.hpp"

void visit_in_release();
void visit_in_release() {
    visit();
}
