// SPDX-License-Identifier: MIT
//
// The file without exceptions and RTTI.
#include "mixed.hpp"

bool adapts_in_plain();
bool adapts_in_plain() {
    return adapts();
}
