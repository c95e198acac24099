// SPDX-License-Identifier: MIT
// link: static
//
// The same where the C++ library is linked statically too, and has the same forms once more.
#include "api_cpp_own_new.cpp"
