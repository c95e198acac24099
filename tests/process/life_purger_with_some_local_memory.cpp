// SPDX-License-Identifier: MIT
//
// The same with as much as a stack for nothing but the purger would just have held.
#define LOCAL_BYTES 75300
#include "life_purger_with_much_local_memory.cpp"
