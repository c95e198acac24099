// SPDX-License-Identifier: MIT
//
// The file without them.
#include "mixed.hpp"

bool keeps_to_itself_in_release();
bool keeps_to_itself_in_release() {
    return keeps_to_itself();
}

void use_the_break_in_release();
void use_the_break_in_release() {
    cairn::SbrkHeap::lock_break();
    cairn::SbrkHeap::unlock_break();
}
