// SPDX-License-Identifier: MIT
//
// The file without them.
#include "mixed.hpp"

bool keeps_to_itself_in_release();
bool keeps_to_itself_in_release() {
    return keeps_to_itself();
}
