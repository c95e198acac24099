// SPDX-License-Identifier: MIT
//
// The same with the archive: its forms give way to the program's.
// link: static
#include "api_cpp_own_new.cpp"
